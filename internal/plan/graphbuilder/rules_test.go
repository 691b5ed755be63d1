package graphbuilder_test

import (
	"regexp"
	"strings"
	"testing"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// deposed is what reports an object that is set aside from others, by chance.
var deposed = regexp.MustCompile(`\(deposed object [0-9a-f]{8}\)`)

// graph checks the steps of a plan, as they are printed.
func graph(want string) func(*testing.T, *engine.Config, *plan.Plan) {
	return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		var b strings.Builder
		if err := p.Graph.Print(&b); err != nil {
			t.Fatal(err)
		}
		if err := p.Graph.Verify(len(p.Changes)); err != nil {
			t.Error(err)
		}
		got := strings.ReplaceAll(b.String(), `provider["`+testkit.Sim.String()+`"]`, "provider")
		got = deposed.ReplaceAllString(got, "(old)")
		if got := strings.TrimSpace(got); got != strings.ReplaceAll(strings.TrimSpace(want), "\t", "") {
			t.Errorf("steps\n%s\nwant\n%s", got, want)
		}
	}
}

// TestRules is about which step waits for which.
func TestRules(t *testing.T) {
	const one = "resource \"sim_object\" \"a\" { name = \"a\" }\n"
	const two = one + "resource \"sim_object\" \"b\" {\n  name   = \"b\"\n  parent = sim_object.a.id\n}\n"
	const check = "check \"c\" {\n  assert {\n    condition     = sim_object.a.id != \"\"\n    error_message = \"No.\"\n  }\n}\n"
	replaced := func(lifecycle string) string {
		return "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  zone = \"z\"\n" + lifecycle + "}\n" + strings.TrimPrefix(two, one)
	}
	testkit.Rules(t, []testkit.Rule{
		{Rule: "who refers comes later", After: two, Want: "create sim_object.a\ncreate sim_object.b", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 apply sim_object.b after 0 1
			3 close-provider provider after 0 1 2 always`)},
		{Rule: "who depends ends first", Before: two, After: "", Want: "delete sim_object.a delete_because_no_resource_config\ndelete sim_object.b delete_because_no_resource_config", See: graph(`
			0 open-provider provider
			1 destroy sim_object.b after 0
			2 destroy sim_object.a after 0 1
			3 close-provider provider after 0 1 2 always`)},
		{Rule: "an update that lets go comes before the end", Before: two, After: "resource \"sim_object\" \"b\" { name = \"b\" }\n", Want: "delete sim_object.a delete_because_no_resource_config\nupdate sim_object.b", See: graph(`
			0 open-provider provider
			1 apply sim_object.b after 0
			2 destroy sim_object.a after 0 1
			3 close-provider provider after 0 1 2 always`)},
		{Rule: "a replacement is in use in between", Warnings: "Replaced object is still in use", Before: two, After: replaced(""), Want: "delete-then-create sim_object.a replace_because_cannot_update\nupdate sim_object.b", See: graph(`
			0 open-provider provider
			1 finalize sim_object.a after 0
			2 destroy sim_object.a after 0 1
			3 apply sim_object.a after 0 2
			4 apply sim_object.b after 0 3
			5 close-provider provider after 0 1 2 3 4 always`)},
		{Rule: "a replacement that creates first isn't", Before: two, After: replaced("  lifecycle { create_before_destroy = true }\n"), Want: "create-then-delete sim_object.a replace_because_cannot_update\nupdate sim_object.b", See: graph(`
			0 open-provider provider
			1 depose sim_object.a after 0
			2 apply sim_object.a after 0 1
			3 restore-deposed sim_object.a after 2 if 2 fails
			4 apply sim_object.b after 0 2
			5 destroy sim_object.a (old) after 0 4
			6 close-provider provider after 0 2 4 5 always`)},
		{Rule: "outputs come when what they read is there", After: one + "output \"o\" { value = sim_object.a.id }\n", Want: "create sim_object.a", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 output o after 1
			3 close-provider provider after 0 1 always`)},
		{Rule: "checks come last", Warnings: "Check block assertion known after apply", After: one + check, Want: "create sim_object.a", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 condition check.c after 1
			3 close-provider provider after 0 1 always`)},
		{Rule: "what was replaced goes before a check that names its successor and reads", Warnings: "Check block assertion known after apply", Before: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  zone = \"x\"\n  lifecycle { create_before_destroy = true }\n}\n", After: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  zone = \"y\"\n  lifecycle { create_before_destroy = true }\n}\ncheck \"c\" {\n  data \"sim_lookup\" \"d\" { key = \"k\" }\n  assert {\n    condition     = sim_object.a.id != data.sim_lookup.d.found\n    error_message = \"No.\"\n  }\n}\n", Want: "create-then-delete sim_object.a replace_because_cannot_update\nread data.sim_lookup.d read_because_check_nested", See: graph(`
			0 open-provider provider
			1 depose sim_object.a after 0
			2 apply sim_object.a after 0 1
			3 restore-deposed sim_object.a after 2 if 2 fails
			4 destroy sim_object.a (old) after 0 2
			5 gate after 2
			6 gate after 4 always
			7 read-data data.sim_lookup.d after 0 5 6
			8 condition check.c after 2 5 6 7
			9 close-provider provider after 0 2 4 7 always`)},
		{Rule: "data is read when what it names is there", After: one + "data \"sim_lookup\" \"d\" { key = sim_object.a.id }\n" + "resource \"sim_object\" \"b\" { name = data.sim_lookup.d.found }\n", Want: "create sim_object.a\ncreate sim_object.b\nread data.sim_lookup.d read_because_config_unknown", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 read-data data.sim_lookup.d after 0 1
			3 apply sim_object.b after 0 2
			4 close-provider provider after 0 1 2 3 always`)},
		{Rule: "a provider is opened for who uses it", After: one + "provider \"sim\" {\n  alias  = \"x\"\n  region = sim_object.a.id\n}\nresource \"sim_object\" \"b\" {\n  provider = sim.x\n  name     = \"b\"\n}\n", Want: "create sim_object.a\ncreate sim_object.b", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 open-provider provider.x after 1
			3 close-provider provider after 0 1 always
			4 apply sim_object.b after 2
			5 close-provider provider.x after 2 4 always`)},
		{Rule: "an object is made in its steps", After: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  provisioner \"local-exec\" { command = \"true\" }\n}\n", Want: "create sim_object.a", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 provision sim_object.a after 1
			3 close-provider provider after 0 1 always`)},
		{Rule: "conditions of outputs are looked at with them", After: one + "output \"o\" {\n  value = 1\n  precondition {\n    condition     = sim_object.a.id != \"\"\n    error_message = \"No.\"\n  }\n}\n", Want: "create sim_object.a", See: graph(`
			0 open-provider provider
			1 apply sim_object.a after 0
			2 output o after 1
			3 close-provider provider after 0 1 always`)},
	})
}

// TestEphemeralOutputs: a test may run a module with an ephemeral output as a root. The output is
// no step, as the state can't have its value.
func TestEphemeralOutputs(t *testing.T) {
	b := testkit.New(t)
	c, _ := b.Load("resource \"sim_object\" \"a\" { name = \"a\" }\noutput \"o\" {\n  value     = sim_object.a.id\n  ephemeral = true\n}\n")
	p, diags := engine.Plan(t.Context(), c, b.State, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	graph(`
		0 open-provider provider
		1 apply sim_object.a after 0
		2 close-provider provider after 0 1 always`)(t, c, p)
}
