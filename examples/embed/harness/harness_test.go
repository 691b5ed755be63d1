package harness

import (
	"errors"
	"maps"
	"os"
	"testing"

	"weir.dev/weir"
)

const terraform = `
terraform {
  required_providers { sim = { source = "example/sim" } }
}
`

// TestModules plans, applies and destroys a configuration with a module, and a file
// that it reads, of which none is on the disk.
func TestModules(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where others leave nothing either
	h := New(t, map[string]string{
		"main.tf": terraform + `
variable "zone" {}
module "net" {
  source = "./net"
  name   = trimspace(file("name.txt"))
}
resource "sim_server" "web" {
  name    = "web"
  zone    = var.zone
  network = module.net.id
}
`,
		"net/main.tf": terraform + `
variable "name" {}
resource "sim_network" "n" { name = var.name }
output "id" { value = sim_network.n.id }
`,
		"name.txt": "backbone\n",
	}, map[string]any{"zone": "north"})
	want := map[string]weir.Action{"sim_server.web": weir.Create, "module.net.sim_network.n": weir.Create}
	if got := h.Actions(weir.PlanOptions{}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	h.Apply(weir.PlanOptions{})
	if got := h.Cloud.Objects(); got["sim_server-1"]["network"] != "sim_network-1" || got["sim_network-1"]["name"] != "backbone" {
		t.Errorf("%v", got)
	}
	if got := h.Actions(weir.PlanOptions{}); len(got) != 0 {
		t.Errorf("nothing has changed, but %v", got)
	}
	h.Cloud.Change("sim_server-1", weir.Object{"zone": "south"})
	if got := h.Actions(weir.PlanOptions{})["sim_server.web"]; !got.Replaces() {
		t.Errorf("%q", got)
	}
	h.Apply(weir.PlanOptions{Destroy: true})
	if got := h.Cloud.Objects(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

// TestMistake: what is wrong is reported with its place.
func TestMistake(t *testing.T) {
	h := New(t, map[string]string{"main.tf": terraform + "output \"o\" { value = var.nmae }\n"}, nil)
	_, err := h.Validate(t.Context())
	var failed *weir.Error
	if !errors.As(err, &failed) || len(failed.Diagnostics) != 1 {
		t.Fatalf("%v", err)
	}
	if d := failed.Diagnostics[0]; d.Code != "undeclared-variable" || d.File != "main.tf" || d.Line != 5 {
		t.Errorf("%+v", d)
	}
}
