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

// TestStateStore writes the record of a state store, in the form that Terraform 1.17-dev reads.
func TestStateStore(t *testing.T) {
	d := Open(t.TempDir(), "")
	config := cty.ObjectVal(map[string]cty.Value{
		"bucket":   cty.StringVal("b"),
		"provider": cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("eu")}),
	})
	of := StateStore{Name: "x", Source: "registry.terraform.io/x/x", Version: "1.2.3", Supply: "managed_by_terraform"}
	b, err := NewBackend("x_bucket", config, HashStore("x_bucket", config, of))
	if err != nil {
		t.Fatal(err)
	}
	b.Store = &of
	if err := d.SetBackend(b); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(d.Data(), "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"state_store": {`, `"type": "x_bucket"`, `"version": "1.2.3"`, `"source": "registry.terraform.io/x/x"`, `"provider_supply_mode": "managed_by_terraform"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	back, err := d.Backend()
	if err != nil || back.Store == nil || back.Hash != b.Hash || back.Type != "x_bucket" {
		t.Fatalf("%+v %v", back, err)
	}
	of.Name = "" // no record has it
	if *back.Store != of {
		t.Errorf("got %+v", back.Store)
	}
	if v, err := back.Value(config.Type()); err != nil || !v.RawEquals(config) {
		t.Errorf("%v %v", v, err)
	}
	hashes := map[uint64]bool{b.Hash: true}
	for _, other := range []StateStore{{"y", of.Source, of.Version, ""}, {"x", "y/y", of.Version, ""}, {"x", of.Source, "2.0.0", ""}} {
		hashes[HashStore("x_bucket", config, other)] = true
	}
	if hashes[HashStore("x_other", config, of)] = true; len(hashes) != 5 {
		t.Errorf("%d hashes of five configurations", len(hashes))
	}

	put(t, filepath.Join(d.Data(), "terraform.tfstate"), `{"version":3,"state_store":{"type":"x_bucket","provider":{"version":null,"source":"a/b/c","config":{}},"config":null,"hash":1,"provider_supply_mode":"reattached"}}`)
	if b, err := d.Backend(); err == nil || !strings.Contains(err.Error(), "run init again") {
		t.Errorf("%v %v", b, err)
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
