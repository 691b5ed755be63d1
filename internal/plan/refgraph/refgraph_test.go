package refgraph_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/testing/testkit"
)

const text = `variable "v" {
  default = 1
  validation {
    condition     = var.v > 0
    error_message = "No."
  }
}
locals { l = sim_object.a.id }
provider "sim" {
  alias  = "x"
  region = sim_object.p.id
}
resource "sim_object" "a" { name = var.v }
resource "sim_object" "p" { name = "p" }
resource "sim_object" "b" {
  name = local.l
  lifecycle { create_before_destroy = true }
}
resource "sim_object" "c" {
  provider = sim.x
  name     = "c"
}
resource "sim_object" "d" {
  name       = module.m.out
  depends_on = [sim_object.b]
}
resource "sim_object" "e" {
  name = "e"
  provisioner "local-exec" {
    when    = destroy
    command = "x"
  }
  provisioner "local-exec" { command = sim_object.a.id }
}
resource "sim_object" "loop" {
  count = 2
  name  = count.index == 0 ? "x" : sim_object.loop[0].id
}
data "sim_lookup" "d" { key = sim_object.b.id }
resource "sim_object" "f" { name = data.sim_lookup.d.found }
import {
  to = sim_object.f
  id = sim_object.p.id
}
module "m" {
  source    = "./m"
  in        = sim_object.a.id
  providers = { sim = sim.x }
}
output "o" { value = module.m }
-- m/main.tf --
variable "in" {}
resource "sim_object" "inner" { name = var.in }
output "out" { value = sim_object.inner.id }
output "other" { value = "x" }
`

// tree loads the configuration.
func tree(t *testing.T) *program.Tree {
	t.Helper()
	c, diags := testkit.New(t).Load(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return c.Tree
}

// site is a resource of the root.
func site(t *program.Tree, name string) refgraph.Site {
	for _, r := range t.Program.Resources {
		if r.Name.String() == name {
			return refgraph.Site{Tree: t, Declaration: r}
		}
	}
	return refgraph.Site{}
}

// resources are the addresses of those among sites.
func resources(of *refgraph.Of, set map[refgraph.Site]bool) string {
	var list []string
	for at := range set {
		if r, ok := at.Declaration.(*program.Resource); ok {
			name := r.Name.String()
			if path := of.Path(at.Tree); !path.IsRoot() {
				name = path.String() + "." + name
			}
			list = append(list, strings.ReplaceAll(name, "sim_object.", ""))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestClosure has what a resource leads to, itself included, by whatever way.
func TestClosure(t *testing.T) {
	root := tree(t)
	of := refgraph.In(root)
	for from, want := range map[string]string{
		"sim_object.a": "a",
		"sim_object.b": "a b",
		"sim_object.c": "c p",
		"sim_object.d": "a b d module.m.inner p",
		"sim_object.e": "a e",
		"sim_object.f": "a b data.sim_lookup.d f p",
	} {
		if got := resources(of, of.Closure([]refgraph.Site{site(root, from)})); got != want {
			t.Errorf("%s leads to %s, want %s", from, got, want)
		}
	}
	output := refgraph.Site{Tree: root, Declaration: root.Program.Outputs[0]}
	if got, want := resources(of, of.Closure([]refgraph.Site{output})), "a module.m.inner p"; got != want {
		t.Errorf("the output leads to %s, want %s", got, want)
	}
	if n := len(of.Resources()); n != 10 {
		t.Errorf("%d resources", n)
	}
	if n := len(of.Providers()); n != 1 {
		t.Errorf("%d provider configurations", n)
	}
}

// TestLeading has what leads to a resource.
func TestLeading(t *testing.T) {
	root := tree(t)
	of := refgraph.In(root)
	for to, want := range map[string]string{
		"sim_object.p": "c d f module.m.inner",
		"sim_object.b": "d data.sim_lookup.d f",
		"sim_object.f": "",
	} {
		if got := resources(of, of.Leading(map[refgraph.Site]bool{site(root, to): true}, of.Resources())); got != want {
			t.Errorf("to %s lead %q, want %q", to, got, want)
		}
	}
}

// TestNearest has the first managed resources on each way.
func TestNearest(t *testing.T) {
	root := tree(t)
	of := refgraph.In(root)
	for from, want := range map[string]string{"sim_object.b": "a", "sim_object.f": "b p", "sim_object.d": "b module.m.inner", "sim_object.a": "", "sim_object.loop": ""} {
		at := site(root, from)
		var got []string
		for _, r := range of.Nearest(root, at.Declaration.(*program.Resource)) {
			got = append(got, strings.ReplaceAll(r.String(), "sim_object.", ""))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("nearest to %s: %q, want %q", from, got, want)
		}
	}
}

// TestCircles: instances of one resource may lead to one another.
func TestCircles(t *testing.T) {
	root := tree(t)
	in := refgraph.In(root).Circles()
	if in[site(root, "sim_object.loop")] == 0 || in[site(root, "sim_object.a")] != 0 {
		t.Errorf("circles %v", slices.Collect(maps.Values(in)))
	}
}

// TestCreatesFirst: what a block leads to is created first as it is.
func TestCreatesFirst(t *testing.T) {
	root := tree(t)
	of := refgraph.In(root)
	first := refgraph.CreatesFirst(root, func() *refgraph.Of { return of }, func(refgraph.Site) bool { return true })
	for name, want := range map[string]bool{"sim_object.a": true, "sim_object.b": true, "sim_object.c": false, "sim_object.f": false} {
		at := site(root, name)
		if got := first.Has("", at.Declaration.(*program.Resource)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	none := refgraph.CreatesFirst(root, func() *refgraph.Of { return of }, func(refgraph.Site) bool { return false })
	if none.Has("", root.Program.Resources[0]) || (*refgraph.First)(nil).Has("", root.Program.Resources[0]) {
		t.Error("where no block says so something is created first")
	}
}
