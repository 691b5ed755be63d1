package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/testing/testkit"
)

// Before a plan, configurations and paths are known as far as variables and modules decide them.
func TestEarly(t *testing.T) {
	c, diags := testkit.New(t).Load(`variable "v" { default = "x" }
variable "given" {
  type    = string
  default = null
}
resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" {
  count = 2
  name  = "${var.v}${count.index}"
}
resource "sim_object" "late" { name = sim_object.a.id }
module "m" {
  source   = "./m"
  for_each = toset(["k"])
  path     = "conf/${each.key}"
}
locals {
  one     = file("data/${var.v}.txt")
  begin   = filesha256("late/${sim_object.a.id}/x")
  some    = fileset("folder/${var.v}", "*.json")
  nothing = file(sim_object.a.id)
  plain   = "some/${var.v}/path"
}
-- m/main.tf --
variable "path" {}
resource "sim_object" "in" { name = file("${var.path}/in.txt") }
`)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	block := &schema.Block{Attributes: map[string]*schema.Attribute{"name": {Type: cty.String, Optional: true}}}
	var got []string
	for _, e := range c.Early(t.Context(), func(r *program.Resource) *schema.Block {
		if r.Name.Name == "in" {
			return nil
		}
		return block
	}) {
		name := "unknown"
		if v := e.Value.GetAttr("name"); v.IsKnown() {
			name = v.AsString()
		}
		got = append(got, e.Instance.String()+"="+name)
	}
	slices.Sort(got)
	if want := []string{"sim_object.a=a", "sim_object.b[0]=x0", "sim_object.b[1]=x1", "sim_object.late=unknown"}; !slices.Equal(got, want) {
		t.Errorf("configurations %q, not %q", got, want)
	}
	reads, ok := c.FileReads(t.Context())
	if !ok {
		t.Error("a part can't be looked through")
	}
	got = nil
	for _, r := range reads {
		got = append(got, fmt.Sprintf("%s(%s) %t", r.Function, r.Path, r.Whole))
	}
	for _, want := range []string{"file(data/x.txt) true", "filesha256(late/) false", "fileset(folder/x) true", "file() false", "(some/x/path) true", "file(conf/k/in.txt) true"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q isn't among %q", want, got)
		}
	}
}
