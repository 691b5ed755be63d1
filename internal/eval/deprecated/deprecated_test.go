package deprecated_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval/deprecated"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
)

func compile(t *testing.T, text string) *program.Program {
	t.Helper()
	mod, diags := module.Load(module.Memory{"main.tf": []byte(text)}, ".", dialect.OpenTofu)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := compiler.Compile(mod)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

func attribute(message string) *schema.Attribute {
	return &schema.Attribute{Type: cty.String, Optional: true, Deprecated: message != "", DeprecationMessage: message}
}

// things has a type with deprecated attributes at every level, and one that is
// deprecated as a whole.
func things(addr.Provider) *provider.Schemas {
	inner := &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"old": attribute("nested"), "new": attribute("")}}
	block := &schema.Block{Attributes: map[string]*schema.Attribute{"old": attribute("in block"), "new": attribute("")}}
	return &provider.Schemas{Resources: provider.AllKnown(map[string]*schema.Schema{
		"x_thing": {Block: &schema.Block{
			Attributes: map[string]*schema.Attribute{"old": attribute("use new"), "new": attribute(""), "object": {Nested: inner}, "map": {Type: cty.Map(cty.String)}},
			Blocks: map[string]*schema.NestedBlock{
				"part":  {Nesting: schema.List, Block: block},
				"whole": {Nesting: schema.Single, Block: &schema.Block{Deprecated: true, Attributes: map[string]*schema.Attribute{"a": attribute("")}}},
			},
		}},
		"x_retired": {Block: &schema.Block{Deprecated: true, DeprecationMessage: "use x_thing", Attributes: map[string]*schema.Attribute{"id": attribute("")}}},
		"x_fine":    {Block: &schema.Block{Attributes: map[string]*schema.Attribute{"old": attribute("")}}},
	})}
}

func TestUses(t *testing.T) {
	root := compile(t, `
resource "x_thing" "a" {}
resource "x_thing" "n" { count = 2 }
resource "x_retired" "r" {}
resource "x_fine" "f" {}
module "m" {
  source = "./m"
  older  = "x"
  newer  = "x"
}
module "far" {
  source = "registry/m/x"
  count  = 2
  older  = "x"
}
output "attribute" { value = x_thing.a.old }
output "fine" { value = [x_thing.a.new, x_thing.a, x_thing.a.map.old, x_fine.f.old, module.m.new, module.m] }
output "counted" { value = x_thing.n[1].old }
output "nested" { value = [x_thing.a.object.old, x_thing.a.object.new] }
output "block" { value = [x_thing.a.part[0].old, x_thing.a.part[0].new] }
output "block_itself" { value = x_thing.a.whole.a }
output "resource" { value = x_retired.r.id }
output "output" { value = module.m.old }
output "far" { value = module.far[0].old }
output "each" { value = [module.far[*].old, [for m in module.far : m.old], [for m in module.far : m.new], module.far[*].new] }
output "single" { value = module.m[*].old }
`)
	child := compile(t, `
variable "older" {
  default    = ""
  deprecated = "use newer"
}
variable "newer" { default = "" }
output "old" {
  value      = 1
  deprecated = "gone soon"
}
output "new" { value = 1 }
`)
	tree := &program.Tree{Program: root, Children: map[addr.Call]*program.Tree{
		addr.Mod("m"):   {Program: child, Source: "./m"},
		addr.Mod("far"): {Program: child, Source: "registry/m/x"},
	}}
	all := deprecated.Uses(tree, things)
	var got []string
	for _, d := range all {
		source, _, _ := strings.Cut(d.Detail, ", which")
		source = strings.TrimPrefix(source, "This value is derived from ")
		if strings.HasPrefix(d.Summary, "Variable") {
			source = d.Deprecation.Source
		}
		_, message, _ := strings.Cut(d.Detail, "message:")
		got = append(got, fmt.Sprintf("%d %s: %s %t", d.Subject.Start.Line, source, strings.TrimSpace(message), d.Deprecation.Remote))
	}
	slices.Sort(got)
	want := []string{
		`14 module.far older: use newer true`,
		`16 x_thing.a.old: use new false`,
		`18 x_thing.n[1].old: use new false`,
		`19 x_thing.a.object.old: nested false`,
		`20 x_thing.a.part.old: in block false`,
		`21 x_thing.a.whole:  false`,
		`22 x_retired.r: use x_thing false`,
		`23 module.m.old: gone soon false`,
		`24 module.far[0].old: gone soon true`,
		`25 module.far.old: gone soon true`,
		`25 module.far.old: gone soon true`,
		`26 module.m.old: gone soon false`,
		`8 module.m older: use newer false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(deprecated.Local.Shown(all)); n != len(all)-4 {
		t.Errorf("%d local ones of %d", n, len(all))
	}
	other := append(diag.List{{Summary: "other"}}, all...)
	if left := deprecated.None.Shown(other); len(left) != 1 || len(deprecated.All.Shown(other)) != len(other) || other[0].Summary != "other" {
		t.Errorf("left: %v", left)
	}
	if none := deprecated.Uses(tree, func(addr.Provider) *provider.Schemas { return nil }); len(none) != 7 {
		t.Errorf("without schemas: %v", none)
	}
}

func TestGiven(t *testing.T) {
	p := compile(t, `
variable "old" {
  default    = ""
  deprecated = "use new"
}
variable "new" { default = "" }
`)
	all := func(string) bool { return true }
	if diags := deprecated.Given(p, all); len(diags) != 1 || diags.HasErrors() || !strings.Contains(diags[0].Detail, `"old" is deprecated with the following message: use new`) {
		t.Errorf("got %v", diags)
	}
	if diags := deprecated.Given(p, func(string) bool { return false }); len(diags) != 0 {
		t.Errorf("got %v", diags)
	}
}
