package sbom

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "example.com/!a!b@v1.0.0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("Apache License"), 0o644); err != nil {
		t.Fatal(err)
	}
	doc := describe(&debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "weir.dev/weir", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/AB", Version: "v1.0.0"},
			{Path: "old", Version: "v1.0.0", Replace: &debug.Module{Path: "new", Version: "v2.0.0+incompatible"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-tags", Value: "x"}},
	}, "1.2.3", cache)
	if m := doc.Metadata; m.Component.Version != "1.2.3" || len(m.Properties) != 1 || m.Properties[0] != (property{"build:GOOS", "linux"}) {
		t.Errorf("got %+v", m)
	}
	var urls []string
	for _, c := range doc.Components {
		urls = append(urls, c.URL)
	}
	want := []string{"pkg:golang/example.com/AB@v1.0.0", "pkg:golang/new@v2.0.0%2Bincompatible", "pkg:golang/std@1.26.0"}
	if len(urls) != len(want) {
		t.Fatalf("got %q", urls)
	}
	for i := range want {
		if urls[i] != want[i] || doc.Dependencies[0].On[i] != want[i] {
			t.Errorf("got %s, want %s", urls[i], want[i])
		}
	}
	if l := doc.Components[0].Licences; len(l) != 1 || l[0].License.ID != "Apache-2.0" {
		t.Errorf("got the licences %+v", l)
	}
}
