package module

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"weir.dev/weir/internal/core/addr"

	"github.com/hashicorp/hcl/v2"
)

// countingFetcher writes a module and counts.
type countingFetcher struct{ dirs []string }

func (f *countingFetcher) Fetch(_ context.Context, _, _, dir string) (string, string, error) {
	f.dirs = append(f.dirs, dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	return dir, "1.2.0", os.WriteFile(filepath.Join(dir, "main.tf"), nil, 0o644)
}

func TestInstancesShareAPackage(t *testing.T) {
	f := &countingFetcher{}
	in := &Installer{Files: Disk{}, DataDir: t.TempDir(), Fetcher: f, Manifest: Manifest{}}
	for _, key := range []string{`m["a/b"]`, `m["c"]`, `n["c"]`} {
		if _, diags := in.Install(context.Background(), Request{Key: key, ParentDir: ".", Source: "team/net/aws", Constraint: "~> 1.0"}); diags.HasErrors() {
			t.Fatal(diags)
		}
	}
	if len(f.dirs) != 2 {
		t.Errorf("fetched into %q, want one directory for each call", f.dirs)
	}
	if a, c := in.Manifest[`m["a/b"]`], in.Manifest[`m["c"]`]; a.Dir != c.Dir || c.Key != `m["c"]` || c.Version != "1.2.0" {
		t.Errorf("got %+v and %+v", a, c)
	}
	if base := filepath.Base(filepath.Dir(f.dirs[0])); base != "modules" {
		t.Errorf("an instance key makes folders: %s", f.dirs[0])
	}
}

func TestFindForInstances(t *testing.T) {
	m := Manifest{
		`m["a"]`:   {Key: `m["a"]`, Source: "./x", Dir: "x"},
		`o`:        {Key: `o`, Source: "./x", Dir: "x"},
		`p["a"].q`: {Key: `p["a"].q`, Source: "./x", Dir: "x"},
	}
	for _, test := range []struct {
		key, source string
		found       bool
	}{
		{`m["a"]`, "./x", true},
		{`m["b"]`, "./x", true},
		{`m["b"]`, "./y", false},
		{`m["x[1"]`, "./x", true},
		{`m`, "./x", true},
		{`o["k"]`, "./x", true},
		{`mm["b"]`, "./x", false},
		{`p["b"]`, "./x", false},
	} {
		if dir, diags := m.Find(test.key, test.source, "", addr.OpenTofu, hcl.Range{}); diags.HasErrors() == test.found {
			t.Errorf("%s from %s: %q, %v", test.key, test.source, dir, diags)
		}
	}
}
