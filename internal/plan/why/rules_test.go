package why_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/testing/testkit"
)

// TestRules has for each rule of explaining the links of the chains that tell why: their
// kinds and subjects.
func TestRules(t *testing.T) {
	const one = "resource \"sim_object\" \"a\" { name = \"a\" }\n"
	const counted = "resource \"sim_object\" \"a\" {\n  count = 2\n  name  = \"a\"\n}\n"
	const keyed = "module \"m\" {\n  source = \"./m\"\n  in     = local.n\n}\nresource \"sim_object\" \"b\" {\n  count = module.m.o\n  name  = \"b\"\n}\n-- m/main.tf --\nvariable \"in\" {}\noutput \"o\" { value = var.in }"
	const readData = "data \"sim_lookup\" \"d\" { key = \"k\" }\nresource \"sim_object\" \"a\" { name = data.sim_lookup.d.found }"
	for _, c := range []struct {
		rule, before, after string
		outside             func(*testkit.Bench)
		options             engine.PlanOptions
		target, want        string
	}{
		{rule: "what is new is new", after: one, target: "sim_object.a", want: "new sim_object.a"},
		{rule: "an attribute leads to a variable", before: one, after: "variable \"v\" { default = \"x\" }\nresource \"sim_object\" \"a\" { name = var.v }", target: "sim_object.a", want: "attribute sim_object.a > default var.v"},
		{rule: "what is gone isn't configured", before: one, after: "", target: "sim_object.a", want: "unconfigured sim_object.a"},
		{rule: "removed names it", before: one, after: "removed {\n  from = sim_object.a\n  lifecycle { destroy = true }\n}", target: "sim_object.a", want: "removed sim_object.a"},
		{rule: "a count that shrank", before: counted, after: "variable \"n\" { default = 1 }\nresource \"sim_object\" \"a\" {\n  count = var.n\n  name  = \"a\"\n}", target: "sim_object.a[1]", want: "key_gone sim_object.a[1] > repetition sim_object.a > default var.n"},
		{rule: "a count that grew", before: "resource \"sim_object\" \"a\" {\n  count = 1\n  name  = \"a\"\n}", after: counted, target: "sim_object.a[1]", want: "repetition sim_object.a > written "},
		{rule: "a trigger", before: one + "resource \"sim_object\" \"b\" { name = \"b\" }", after: "resource \"sim_object\" \"a\" { name = \"x\" }\nresource \"sim_object\" \"b\" {\n  name = \"b\"\n  lifecycle { replace_triggered_by = [sim_object.a] }\n}",
			target: "sim_object.b", want: "trigger sim_object.b > change sim_object.a > attribute sim_object.a > written "},
		{rule: "a request", before: one, after: one, options: engine.PlanOptions{Replace: []addr.Instance{testkit.Targets("sim_object.a")[0].Instance()}}, target: "sim_object.a", want: "requested sim_object.a"},
		{rule: "a move", before: one, after: "resource \"sim_object\" \"x\" { name = \"a\" }\nmoved {\n  from = sim_object.a\n  to   = sim_object.x\n}", target: "sim_object.x", want: "moved sim_object.x"},
		{rule: "an import", after: one + "import {\n  to = sim_object.a\n  id = \"a\"\n}", outside: func(b *testkit.Bench) { b.SetRemote("a", testkit.Object("a", "a")) }, target: "sim_object.a", want: "imported sim_object.a"},
		{rule: "through a module", before: "", after: "resource \"sim_object\" \"a\" { name = \"a\" }\nmodule \"m\" {\n  source = \"./m\"\n  in     = sim_object.a.id\n}\nresource \"sim_object\" \"b\" { name = module.m.o }\n-- m/main.tf --\nvariable \"in\" {}\noutput \"o\" { value = var.in }", target: "sim_object.b", want: "new sim_object.b"},
		{rule: "data that can't be read yet", after: one + "data \"sim_lookup\" \"d\" { key = sim_object.a.id }", target: "data.sim_lookup.d", want: "unknown data.sim_lookup.d > change sim_object.a > new sim_object.a"},
		{rule: "data that waits for what it depends on", after: one + "data \"sim_lookup\" \"d\" {\n  key        = \"k\"\n  depends_on = [sim_object.a]\n}", target: "data.sim_lookup.d", want: "depends_on data.sim_lookup.d > change sim_object.a > new sim_object.a"},
		{rule: "what is put off", after: one + "resource \"sim_object\" \"b\" {\n  for_each = toset([sim_object.a.id])\n  name     = each.key\n}", options: engine.PlanOptions{AllowDeferral: true}, target: "sim_object.b", want: "repetition sim_object.b > change sim_object.a > new sim_object.a"},
		{rule: "what is put off behind that", after: one + "resource \"sim_object\" \"b\" {\n  for_each = toset([sim_object.a.id])\n  name     = each.key\n}\nresource \"sim_object\" \"c\" { name = join(\",\", keys(sim_object.b)) }", options: engine.PlanOptions{AllowDeferral: true}, target: "sim_object.c", want: "deferred_for sim_object.b[*] > repetition sim_object.b > change sim_object.a > new sim_object.a"},
		{rule: "a count that a module gives", before: "locals { n = 2 }\n" + keyed, after: "locals { n = 1 }\n" + keyed, target: "sim_object.b", want: "key_gone sim_object.b[1] > repetition sim_object.b > written "},
		{rule: "data that reads something else", before: readData, after: readData, outside: func(b *testkit.Bench) {
			b.DataSources["sim_lookup"].ReadData = func(r provider.ReadDataRequest) provider.ReadDataResponse {
				return provider.ReadDataResponse{New: cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k"), "found": cty.StringVal("other")})}
			}
		}, target: "sim_object.a", want: "attribute sim_object.a > new_data data.sim_lookup.d"},
		{rule: "the module is gone", before: "module \"m\" { source = \"./m\" }\n-- m/main.tf --\n" + one, after: "", target: "module.m", want: "unconfigured module.m"},
	} {
		t.Run(strings.ReplaceAll(c.rule, " ", "_"), func(t *testing.T) {
			b := testkit.New(t)
			if c.before != "" {
				if diags := b.Apply(c.before, engine.PlanOptions{}); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
			}
			if c.outside != nil {
				c.outside(b)
			}
			loaded, diags := b.Load(c.after)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			_, list, diags := engine.Explain(t.Context(), loaded, b.State, c.options, testkit.Targets(c.target)[0])
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			var chains []string
			for _, e := range list {
				for _, chain := range e.Chains {
					var links []string
					for _, l := range chain {
						links = append(links, string(l.Kind)+" "+l.Subject)
					}
					chains = append(chains, strings.Join(links, " > "))
				}
			}
			if got := strings.Join(chains, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
