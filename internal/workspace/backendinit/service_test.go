package backendinit

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/internal/workspace/environment"
)

// TestServiceInputs has a service that keeps values of variables, and one that makes
// plans itself.
func TestServiceInputs(t *testing.T) {
	service := &testservers.Remote{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"settings": fmt.Sprintf("host \"h.example.com\" {\n  services = { \"tfe.v2\" = \"%s/api/v2\" }\n}\n", server.URL),
		"main.tf":  "terraform {\n  cloud {\n    hostname = \"h.example.com\"\n    organization = \"org\"\n    workspaces {\n      name = \"net\"\n    }\n  }\n}\nvariable \"a\" {}\nvariable \"b\" {}\nvariable \"c\" {\n  default = 1\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := New(environment.New(environment.Options{Dir: dir, Environ: map[string]string{
		"TF_CLI_CONFIG_FILE": filepath.Join(dir, "settings"), "TF_TOKEN_h_example_com": "me-token",
	}}))
	prog, _ := d.RootSettings()
	want, diags := d.Opener().Declare(prog, d.BackendSettings(prog, nil), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	b, record, diags := d.Opener().Declared(want, prog)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	ask := func(runs bool) (map[string]module.VariableInput, string) {
		in := map[string]module.VariableInput{"a": {Text: "given"}}
		var said []string
		for _, d := range d.ServiceInputs(t.Context(), in, runs) {
			said = append(said, d.Summary)
		}
		return in, strings.Join(said, "; ")
	}
	if in, said := ask(true); len(in) != 1 || said != "" {
		t.Errorf("before init: %v %s", in, said)
	}
	if err := d.Place.Memory().SetBackend(record); err != nil {
		t.Fatal(err)
	}
	if err := d.Place.Memory().SetWorkspace("net"); err != nil {
		t.Fatal(err)
	}
	if err := b.CreateWorkspace(t.Context(), "net"); err != nil {
		t.Fatal(err)
	}
	if in, said := ask(true); len(in) != 1 || said != "" {
		t.Errorf("runs here: %v %s", in, said)
	}
	stored := func(key, value string) map[string]any {
		return map[string]any{"key": key, "value": value, "hcl": key == "b", "category": "terraform"}
	}
	service.Set("net", "remote", stored("a", "stored"), stored("b", "[1]"), stored("other", "x"))
	if _, said := ask(true); said != "Plans and applies of this workspace are made elsewhere" {
		t.Error(said)
	}
	if in, said := ask(false); said != "" || len(in) != 2 || in["a"].Text != "given" || in["b"].Value.LengthInt() != 1 {
		t.Errorf("%v %s", in, said)
	}
	// Without the backend no values are asked for: who opens it reports why it can't be used.
	other := *record
	other.Hash++
	other.Config = json.RawMessage(strings.ReplaceAll(string(record.Config), `"org"`, `"another"`))
	if err := d.Place.Memory().SetBackend(&other); err != nil {
		t.Fatal(err)
	}
	if in, said := ask(true); len(in) != 1 || said != "" {
		t.Errorf("initialized with another one: %v %s", in, said)
	}
	if err := d.Place.Memory().SetBackend(record); err != nil {
		t.Fatal(err)
	}
	// A default isn't what the service would use.
	service.Set("net", "remote", map[string]any{"key": "c", "sensitive": true, "category": "terraform"}, stored("b", "1 +"))
	if _, said := ask(false); !strings.Contains(said, "Value for var.c unavailable") || !strings.Contains(said, ";") {
		t.Error(said)
	}
}
