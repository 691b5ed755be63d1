package instance_test

import (
	"testing"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// TestRules is about what the block of one instance says.
func TestRules(t *testing.T) {
	const one = "resource \"sim_object\" \"a\" { name = \"a\" }\n"
	guard := func(when string) string {
		return "variable \"on\" { default = true }\nresource \"sim_object\" \"a\" {\n  name = \"a\"\n  lifecycle { prevent_destroy = " + when + " }\n}\n"
	}
	destroy := engine.PlanOptions{Mode: plan.Destroy}
	testkit.Rules(t, []testkit.Rule{
		{Rule: "the provider has the type", After: `resource "sim_nothing" "a" {}`, Problems: "Invalid resource type"},
		{Rule: "the provider has the data source", After: `data "sim_nothing" "a" {}`, Problems: "Invalid data source"},
		{Rule: "the provider has the ephemeral resource", After: `ephemeral "sim_nothing" "a" {}`, Problems: "Invalid ephemeral resource"},
		{Rule: "arguments fit the schema", After: `resource "sim_object" "a" { nome = "a" }`, Problems: "Missing required argument\nUnsupported argument"},
		{Rule: "ephemeral values aren't kept", After: "ephemeral \"sim_token\" \"t\" { scope = \"s\" }\nresource \"sim_object\" \"a\" { name = ephemeral.sim_token.t.value }", Problems: "Invalid use of ephemeral value"},
		{Rule: "numbers can be written down", After: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  size = 1 / 0\n}", Problems: "Number can't be stored"},
		{Rule: "what is sensitive stays so", Before: one, After: "variable \"s\" {\n  default   = \"a\"\n  sensitive = true\n}\nresource \"sim_object\" \"a\" { name = var.s }", Want: "update sim_object.a"},
		{Rule: "where changes are ignored what was sensitive is", Before: "variable \"s\" {\n  default   = \"a\"\n  sensitive = true\n}\nresource \"sim_object\" \"a\" { name = var.s }",
			After: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  lifecycle { ignore_changes = [name] }\n}"},
		{Rule: "where all changes are ignored nothing becomes sensitive", Before: one,
			After: "variable \"s\" {\n  default   = \"a\"\n  sensitive = true\n}\nresource \"sim_object\" \"a\" {\n  name = var.s\n  lifecycle { ignore_changes = all }\n}"},
		{Rule: "ignored arguments exist", After: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  lifecycle { ignore_changes = [nome] }\n}", Problems: "Unsupported attribute"},
		{Rule: "prevent_destroy may be off", Before: one, After: guard("!var.on"), Options: destroy, Want: "delete sim_object.a"},
		{Rule: "prevent_destroy isn't null", Before: one, After: guard("null"), Options: destroy, Problems: "Invalid value for prevent_destroy"},
		{Rule: "prevent_destroy is a truth value", Before: one, After: guard(`"often"`), Options: destroy, Problems: "Invalid value for prevent_destroy"},
		{Rule: "prevent_destroy is known", Before: one, After: guard(`timestamp() == "x"`), Options: destroy, Problems: "Invalid value for prevent_destroy"},
		{Rule: "data of a check fails as the check", Warnings: "Scripted failure", After: "check \"c\" {\n  data \"sim_lookup\" \"d\" { key = \"k\" }\n  assert {\n    condition     = data.sim_lookup.d.found != \"\"\n    error_message = \"No.\"\n  }\n}",
			Outside: func(b *testkit.Bench) { b.Fail("ReadData", "sim_lookup", "no way") },
			See: func(t *testing.T, _ *engine.Config, p *plan.Plan) {
				if len(p.Checks) != 1 || p.Checks[0].Status != "fail" {
					t.Errorf("checks %+v", p.Checks)
				}
			}},
		{Rule: "data elsewhere fails as itself", After: `data "sim_lookup" "d" { key = "k" }`,
			Outside: func(b *testkit.Bench) { b.Fail("ReadData", "sim_lookup", "no way") }, Problems: "Scripted failure"},
	})
}
