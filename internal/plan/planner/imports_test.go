package planner_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/testing/testkit"
)

// there puts objects outside, known by their names.
func there(names ...string) func(*testkit.Bench) {
	return func(b *testkit.Bench) {
		for _, name := range names {
			b.SetRemote(name, testkit.Object(name, name))
		}
	}
}

// imported are the addresses that a plan imports, each with what it is known by.
func imported(want string) func(*testing.T, *engine.Config, *plan.Plan) {
	return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		var got []string
		for _, c := range p.Changes {
			if c.Importing != nil {
				got = append(got, c.Addr.String()+"="+c.Importing.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("imports %q, want %q", got, want)
		}
	}
}

func TestImports(t *testing.T) {
	testkit.Rules(t, []testkit.Rule{
		{Rule: "an import that differs is updated", After: one + "import {\n  to = sim_object.a\n  id = \"other\"\n}", Outside: there("other"),
			Want: "update sim_object.a", See: imported("sim_object.a=other")},
		{Rule: "for_each imports several", After: `resource "sim_object" "a" {
  for_each = toset(["p", "q"])
  name     = each.key
}
import {
  for_each = toset(["p", "q"])
  to       = sim_object.a[each.key]
  id       = each.value
}`, Outside: there("p", "q"), Want: "no-op sim_object.a[\"p\"]\nno-op sim_object.a[\"q\"]", See: imported(`sim_object.a["p"]=p sim_object.a["q"]=q`)},
		{Rule: "modules are imported into", After: `module "m" {
  source   = "./m"
  for_each = toset(["p"])
}
import {
  for_each = toset(["p"])
  to       = module.m[each.key].sim_object.a
  id       = "a"
}
-- m/main.tf --
` + one, Outside: there("a"), Want: `no-op module.m["p"].sim_object.a`, See: imported(`module.m["p"].sim_object.a=a`)},
		{Rule: "what is in the state isn't imported again", Before: one, After: one + "import {\n  to = sim_object.a\n  id = \"other\"\n}", Outside: there("other")},
		{Rule: "an import needs a block or configuration made for it", After: "import {\n  to = sim_object.a\n  id = \"a\"\n}", Outside: there("a"), Problems: "Configuration for import target does not exist"},
		{Rule: "an import is to an instance that there can be", After: "resource \"sim_object\" \"a\" {\n  count = 1\n  name  = \"a\"\n}\nimport {\n  to = sim_object.a\n  id = \"a\"\n}", Outside: there("a"), Problems: "Configuration for import target does not exist"},
		{Rule: "the for_each of an import has to be known", After: one + `resource "sim_object" "b" {
  for_each = toset(["p"])
  name     = each.key
}
import {
  for_each = toset([sim_object.a.id])
  to       = sim_object.b[each.key]
  id       = each.key
}`, Problems: "Invalid for_each argument"},
		{Rule: "the key of an import has to be known", After: one + `resource "sim_object" "b" {
  for_each = toset(["p"])
  name     = each.key
}
import {
  to = sim_object.b[sim_object.a.id]
  id = "p"
}`, Problems: "Invalid import target"},
		{Rule: "the ID of an import has to be known", After: one + `resource "sim_object" "b" { name = "b" }
import {
  to = sim_object.b
  id = sim_object.a.id
}`, Problems: "Invalid import id argument"},
		{Rule: "the ID of an import isn't null", After: one + "import {\n  to = sim_object.a\n  id = null\n}", Problems: "Invalid import id argument"},
		{Rule: "the ID of an import isn't sensitive", After: one + "import {\n  to = sim_object.a\n  id = sensitive(\"a\")\n}", Problems: "Invalid import id argument"},
		{Rule: "a type without identity has none to import by", After: one + "import {\n  to = sim_object.a\n  identity = { id = \"a\" }\n}", Problems: "Invalid import identity argument"},
		{Rule: "two imports have two targets", After: `resource "sim_object" "a" {
  for_each = toset(["p"])
  name     = each.key
}
import {
  for_each = toset(["x", "y"])
  to       = sim_object.a["p"]
  id       = each.key
}`, Problems: `Duplicate import configuration for "sim_object.a[\"p\"]"`},
		{Rule: "importing needs the provider's configuration", After: `resource "sim_object" "a" { name = "a" }
provider "sim" {
  alias  = "x"
  region = sim_object.a.id
}
resource "sim_object" "b" {
  provider = sim.x
  name     = "b"
}
import {
  to = sim_object.b
  id = "b"
}`, Outside: there("b"), Problems: "Invalid provider configuration"},
	})
}

// One object at two addresses causes a warning where that is sure.
func TestSharedObjects(t *testing.T) {
	const two = "resource \"sim_object\" \"a\" { name = \"a\" }\nresource \"sim_object\" \"b\" { name = \"a\" }\n"
	imports := func(to, id string) string { return "import {\n  to = " + to + "\n  id = \"" + id + "\"\n}\n" }
	type rule struct {
		name, before, after string
		outside             []string
		warned              string // the two addresses
	}
	for _, c := range []rule{
		{name: "two imports of one object", after: two + imports("sim_object.a", "a") + imports("sim_object.b", "a"), outside: []string{"a"}, warned: `sim_object.b sim_object.a`},
		{name: "imports of two objects", after: two + imports("sim_object.a", "a") + imports("sim_object.b", "b"), outside: []string{"a", "b"}},
		{name: "equal IDs under two provider configurations", after: `provider "sim" {
  alias  = "x"
  region = "x"
}
resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" {
  provider = sim.x
  name     = "a"
}
` + imports("sim_object.a", "a") + imports("sim_object.b", "a"), outside: []string{"a"}},
		{name: "one import block with for_each", after: `resource "sim_object" "a" {
  for_each = toset(["p", "q"])
  name     = "a"
}
import {
  for_each = toset(["p", "q"])
  to       = sim_object.a[each.key]
  id       = "a"
}`, outside: []string{"a"}, warned: `sim_object.a["q"] sim_object.a["p"]`},
		{name: "into two modules", after: `module "m" {
  source   = "./m"
  for_each = toset(["p", "q"])
}
` + imports("module.m[\"p\"].sim_object.a", "a") + imports("module.m[\"q\"].sim_object.a", "a") + "-- m/main.tf --\n" + one, outside: []string{"a"}, warned: `module.m["q"].sim_object.a module.m["p"].sim_object.a`},
		{name: "what the state has elsewhere", before: one, after: two + "import {\n  to = sim_object.b\n  id = \"id-1\"\n}", outside: []string{"id-1"}, warned: `sim_object.b sim_object.a`},
		{name: "what the state has elsewhere and is destroyed", before: one, after: "resource \"sim_object\" \"b\" { name = \"a\" }\n" + "import {\n  to = sim_object.b\n  id = \"id-1\"\n}", outside: []string{"id-1"}, warned: `sim_object.b sim_object.a`},
		{name: "what the state gives up", before: one, after: "resource \"sim_object\" \"b\" { name = \"a\" }\nremoved {\n  from = sim_object.a\n  lifecycle {\n    destroy = false\n  }\n}\n" + "import {\n  to = sim_object.b\n  id = \"id-1\"\n}", outside: []string{"id-1"}},
		{name: "what has moved to the target", before: one, after: "resource \"sim_object\" \"b\" { name = \"a\" }\nmoved {\n  from = sim_object.a\n  to   = sim_object.b\n}\n" + "import {\n  to = sim_object.b\n  id = \"id-1\"\n}"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			b := testkit.New(t)
			if c.before != "" {
				if diags := b.Apply(c.before, engine.PlanOptions{}); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
			}
			there(c.outside...)(b)
			_, _, diags := b.Plan(c.after, engine.PlanOptions{})
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			got := ""
			for _, d := range diags {
				if planner.SharedObject.Is(d) {
					addresses := regexp.MustCompile(`(?:module\.m\["\w"\]\.)?sim_object\.\w(?:\["\w"\])?`).FindAllString(d.Detail, 2)
					got += strings.Join(addresses, " ")
				}
			}
			if got != c.warned {
				t.Errorf("warned of %q, want %q: %v", got, c.warned, diags)
			}
		})
	}
}

// TestSharedByIdentity: an identity names the object whatever the IDs are.
func TestSharedByIdentity(t *testing.T) {
	b := testkit.New(t)
	kind := b.Resources["sim_object"]
	kind.Schema.Identity = &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"name": {Type: cty.String, Required: true}}}
	identity := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a")})
	kind.Import = func(r provider.ImportRequest) provider.ImportResponse {
		return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: r.Type, State: testkit.Object("a", "id-1"), Identity: identity}}}
	}
	kind.Read = func(r provider.ReadRequest) provider.ReadResponse {
		return provider.ReadResponse{New: r.Current, Identity: identity}
	}
	byIdentity := func(to, of string) string {
		return "resource \"sim_object\" \"" + to + "\" { name = \"a\" }\nimport {\n  to       = sim_object." + to + "\n  identity = { name = \"" + of + "\" }\n}\n"
	}
	if diags := b.Apply(byIdentity("a", "a"), engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	_, _, diags := b.Plan(one+byIdentity("b", "a"), engine.PlanOptions{})
	if got := testkit.Problems(diags) + testkit.Warnings(diags); got != planner.SharedObject.Summary {
		t.Errorf("reported %q, want %q: %v", got, planner.SharedObject.Summary, diags)
	}
}

func TestGenerate(t *testing.T) {
	for rule, c := range map[string]struct{ text, want, problems string }{
		"configuration is written for what has none": {"import {\n  to = sim_object.a\n  id = \"a\"\n}", `name = "a"`, ""},
		"and not for what has some":                  {one + "import {\n  to = sim_object.a\n  id = \"a\"\n}", "", ""},
		"nor in modules":                             {"module \"m\" { source = \"./m\" }\nimport {\n  to = module.m.sim_object.x\n  id = \"a\"\n}\n-- m/main.tf --\n# empty\n", "", ""},
		"a named provider is written too":            {"provider \"sim\" { alias = \"x\" }\nimport {\n  to = sim_object.a\n  id = \"a\"\n  provider = sim.x\n}", "provider = sim.x", ""},
		"a type has to be there":                     {"import {\n  to = sim_nothing.a\n  id = \"a\"\n}", "", "Invalid resource type"},
	} {
		t.Run(strings.ReplaceAll(rule, " ", "_"), func(t *testing.T) {
			b := testkit.New(t)
			there("a")(b)
			loaded, diags := b.Load(c.text)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			list, diags := engine.Generate(t.Context(), loaded, b.State, engine.PlanOptions{})
			if got := testkit.Problems(diags); got != c.problems {
				t.Errorf("problems %q, want %q", got, c.problems)
			}
			got := ""
			for _, g := range list {
				got += g.Text
			}
			if !strings.Contains(strings.Join(strings.Fields(got), " "), c.want) || (c.want == "") != (got == "") {
				t.Errorf("written:\n%s\nwant %s", got, c.want)
			}
		})
	}
}
