package workdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func local(path, dir cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"path": path, "workspace_dir": dir})
}

// recorded is what OpenTofu 1.12.6 wrote for
//
//	backend "local" { path = "states/main.tfstate" }
//
// and init -backend-config=workspace_dir=ws.
const recorded = `{
    "version": 3,
    "backend": {
        "type": "local",
        "config": {
            "path": "states/main.tfstate",
            "workspace_dir": "ws"
        },
        "hash": 2364842467
    }
}
`

func TestBackend(t *testing.T) {
	d := Open(t.TempDir(), "")
	path := filepath.Join(d.Root(), ".terraform", "terraform.tfstate")
	if b, err := d.Backend(); b != nil || err != nil {
		t.Fatalf("%v %v", b, err)
	}
	if err := d.SetBackend(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Data()); err == nil {
		t.Error("a record of nothing was made")
	}

	file := cty.StringVal("states/main.tfstate")
	config := local(file, cty.StringVal("ws"))
	b, err := NewBackend("local", config, Hash("local", local(file, cty.NullVal(cty.String))))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetBackend(b); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != recorded {
		t.Errorf("%v\n%s", err, text)
	}
	back, err := d.Backend()
	if err != nil || back.Type != "local" || back.Hash != 2364842467 {
		t.Fatalf("%v %v", back, err)
	}
	if v, err := back.Value(config.Type()); err != nil || !v.RawEquals(config) {
		t.Errorf("%v %v", v, err)
	}
	if _, err := back.Value(cty.Object(map[string]cty.Type{"path": cty.Bool})); err == nil || !strings.Contains(err.Error(), "doesn't fit") {
		t.Errorf("got %v", err)
	}

	if err := d.SetBackend(nil); err != nil {
		t.Fatal(err)
	}
	if b, err := d.Backend(); b != nil || err != nil {
		t.Errorf("%v %v", b, err)
	}
	if _, err := NewBackend("local", cty.UnknownVal(cty.String), 0); err == nil {
		t.Error("an unknown configuration was saved")
	}
}

func TestBadBackend(t *testing.T) {
	for _, tt := range []struct{ dataDir, text, want string }{
		{"", "", ""},
		{"", `{"version":3}`, ""},
		{"", `{"version":3,"backend":{"type":""}}`, ""},
		{"", `{"version":3,"serial":1,"lineage":"x","modules":[],"terraform_version":"1.5.0"}`, ""},
		{"", `{"version":`, "run init again"},
		{"", `{"version":4,"terraform_version":"1.5.0"}`, "has version 4"},
		{"data", `{"version":4,"terraform_version":"1.5.0"}`, "TF_DATA_DIR"},
		{"data", `{"version":5}`, "has version 5"},
	} {
		d := Open(t.TempDir(), tt.dataDir)
		put(t, filepath.Join(d.Data(), "terraform.tfstate"), tt.text)
		b, err := d.Backend()
		if b != nil || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v %v", tt.text, b, err)
		}
	}
}

func TestWorkspace(t *testing.T) {
	d := Open(t.TempDir(), "data/dir")
	want := func(name string) {
		t.Helper()
		if got, err := d.Workspace(); got != name || err != nil {
			t.Errorf("got %q %v", got, err)
		}
	}
	want("default")
	if err := d.SetWorkspace("dev"); err != nil {
		t.Fatal(err)
	}
	want("dev")
	path := filepath.Join(d.Root(), "data", "dir", "environment")
	if text, err := os.ReadFile(path); string(text) != "dev" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	put(t, path, "  prod\n")
	want("prod")
	put(t, path, " \n")
	want("default")
}

func TestPlaces(t *testing.T) {
	root := t.TempDir()
	for dataDir, want := range map[string]string{
		"":                         filepath.Join(root, ".terraform"),
		"x":                        filepath.Join(root, "x"),
		filepath.Join(root, "abs"): filepath.Join(root, "abs"),
	} {
		d := Open(root, dataDir)
		if d.Data() != want || d.Modules() != filepath.Join(want, "modules") || d.Providers() != filepath.Join(want, "providers") {
			t.Errorf("%q: %s %s %s", dataDir, d.Data(), d.Modules(), d.Providers())
		}
	}
}
