package relevantattrs_test

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// relevant checks the attributes that changes may come from.
func relevant(want ...string) func(*testing.T, *engine.Config, *plan.Plan) {
	return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		var got []string
		for _, a := range p.Relevant {
			got = append(got, a.Resource.String()+value.PathString(a.Path))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("relevant\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestRules is about the attributes that the changes of a plan may come from.
func TestRules(t *testing.T) {
	const a = "resource \"sim_object\" \"a\" { name = \"a\" }\n"
	const create = "create sim_object.a\ncreate sim_object.b"
	b := func(name string) string { return a + "resource \"sim_object\" \"b\" { name = " + name + " }\n" }
	module := func(inner, outer string) string {
		return a + "module \"m\" {\n  source = \"./m\"\n  in     = sim_object.a.id\n}\n" + outer + "\n-- m/main.tf --\nvariable \"in\" {}\n" + inner
	}
	testkit.Rules(t, []testkit.Rule{
		{Rule: "what a changed resource names is relevant", After: b("sim_object.a.id"), Want: create, See: relevant("sim_object.a.id")},
		{Rule: "a whole object may be named", After: b("jsonencode(sim_object.a)"), Want: create, See: relevant("sim_object.a")},
		{Rule: "locals lead on", After: b("local.l") + "locals { l = sim_object.a.id }", Want: create, See: relevant("sim_object.a.id")},
		{Rule: "what doesn't change has no reasons", Before: b("sim_object.a.name"), After: b("sim_object.a.name"), See: relevant()},
		{Rule: "an attribute's own reasons count", Before: a, After: "resource \"sim_object\" \"a\" {\n  name   = \"a\"\n  parent = sim_object.z.id\n}\nresource \"sim_object\" \"z\" { name = \"z\" }\nresource \"sim_object\" \"b\" { name = sim_object.a.parent }\n",
			Want: "create sim_object.b\ncreate sim_object.z\nupdate sim_object.a", See: relevant("sim_object.a.parent", "sim_object.z.id")},
		{Rule: "a constant key names an instance", After: "resource \"sim_object\" \"a\" {\n  count = 2\n  name  = \"a\"\n}\nresource \"sim_object\" \"b\" { name = sim_object.a[1].id }\n",
			Want: "create sim_object.a[0]\ncreate sim_object.a[1]\ncreate sim_object.b", See: relevant("sim_object.a[1].id")},
		{Rule: "a computed key names them all", After: "variable \"n\" { default = 0 }\nresource \"sim_object\" \"a\" {\n  count = 1\n  name  = \"a\"\n}\nresource \"sim_object\" \"b\" { name = sim_object.a[var.n].id }\n",
			Want: "create sim_object.a[0]\ncreate sim_object.b", See: relevant("sim_object.a")},
		{Rule: "the repetition counts where it is read", After: a + "resource \"sim_object\" \"b\" {\n  for_each = toset([sim_object.a.name])\n  name     = each.key\n}\n",
			Want: "create sim_object.a\ncreate sim_object.b[\"a\"]", See: relevant("sim_object.a.name")},
		{Rule: "arguments of modules lead on", After: module("resource \"sim_object\" \"b\" { name = var.in }", ""), Want: "create module.m.sim_object.b\ncreate sim_object.a", See: relevant("sim_object.a.id")},
		{Rule: "outputs of modules lead on", After: module("output \"o\" { value = var.in }", "resource \"sim_object\" \"b\" { name = module.m.o }"), Want: create, See: relevant("sim_object.a.id")},
		{Rule: "a whole module leads to all its outputs", After: module("output \"o\" { value = var.in }\noutput \"p\" { value = 1 }", "resource \"sim_object\" \"b\" { name = jsonencode(module.m) }"), Want: create, See: relevant("sim_object.a.id")},
		{Rule: "changed outputs have reasons", After: a + "output \"o\" { value = sim_object.a.id }", Want: "create sim_object.a", See: relevant("sim_object.a.id")},
		{Rule: "an output ends with what it reads", Warnings: "Resource targeting is in effect", Before: module("output \"o\" { value = var.in }", "output \"o\" { value = module.m.o }\nlocals { l = 1 }"), After: module("output \"o\" { value = var.in }", "output \"o\" { value = module.m.o }"),
			Options: engine.PlanOptions{Mode: plan.Destroy, Targets: testkit.Targets("sim_object.a")}, Want: "delete sim_object.a", See: func(t *testing.T, _ *engine.Config, p *plan.Plan) {
				if len(p.Outputs) != 1 || p.Outputs[0].Action != plan.Delete {
					t.Errorf("outputs %v", p.Outputs)
				}
			}},
	})
}
