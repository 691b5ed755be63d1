package checks_test

import (
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// TestCheck has what a check block results in in plans.
func TestCheck(t *testing.T) {
	check := func(condition string) string {
		return "resource \"sim_object\" \"a\" { name = \"a\" }\ncheck \"c\" {\n  data \"sim_lookup\" \"d\" { key = \"k\" }\n  assert {\n    condition     = " + condition + "\n    error_message = \"Not ${sim_object.a.name}.\"\n  }\n}\n"
	}
	comes := func(status string, messages ...string) func(*testing.T, *engine.Config, *plan.Plan) {
		return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
			if len(p.Checks) != 1 || p.Checks[0].Kind != "check" || p.Checks[0].Address != "check.c" || p.Checks[0].Status != status {
				t.Fatalf("checks %+v, want one that is %s", p.Checks, status)
			}
			var told []string
			for _, o := range p.Checks[0].Objects {
				told = append(told, o.Messages...)
			}
			if !slices.EqualFunc(told, messages, strings.HasPrefix) {
				t.Errorf("messages %q, want %q", told, messages)
			}
		}
	}
	const create = "create sim_object.a\nread data.sim_lookup.d read_because_check_nested"
	testkit.Rules(t, []testkit.Rule{
		{Rule: "an assertion holds", After: check(`sim_object.a.name == "a"`), Want: create, See: comes("pass")},
		{Rule: "one that doesn't is a warning", Warnings: "Check block assertion failed", After: check(`sim_object.a.name == "b"`), Want: create, See: comes("fail", "Not a.")},
		{Rule: "one that can't be evaluated yet waits for the apply", Warnings: "Check block assertion known after apply", After: check(`sim_object.a.id != ""`), Want: create, See: comes("unknown")},
		{Rule: "one that is no condition stops nothing", Warnings: "Invalid condition result", After: check(`sim_object.a.name`), Want: create, See: comes("error")},
		{Rule: "without its data nothing is asserted", Warnings: "Scripted failure", After: check(`data.sim_lookup.d.found == ""`), Want: create, See: comes("fail", "Scripted failure"),
			Outside: func(b *testkit.Bench) { b.Fail("ReadData", "sim_lookup", "no way") }},
	})
}
