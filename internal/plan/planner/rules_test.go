package planner_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

const (
	one = `resource "sim_object" "a" { name = "a" }
`
	chain = `resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.id
}
resource "sim_object" "c" {
  name   = "c"
  parent = sim_object.b.id
}
`
)

// TestRules has for each rule of planning what was applied before, what is planned
// then, and which changes or problems that makes.
func TestRules(t *testing.T) {
	none := func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		if len(p.Changes) > 0 {
			t.Errorf("changes of what has failed, or reads it:\n%s", testkit.Changes(p))
		}
	}
	testkit.Rules(t, []testkit.Rule{
		{Rule: "a condition that is null fails the variable and what reads it", After: `variable "v" {
  default = "x"
  validation {
    condition     = var.v == "x" ? null : true
    error_message = "No."
  }
}
resource "sim_object" "a" { name = var.v }`, Problems: "Invalid condition result", See: none},
		{Rule: "a condition that is null fails the object and what reads it", After: `resource "sim_object" "a" {
  name = "a"
  lifecycle {
    precondition {
      condition     = path.root == "" ? true : null
      error_message = "No."
    }
  }
}
resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.id
}`, Problems: "Invalid condition result", See: none},
		{Rule: "a condition that is null in a check is a warning", Warnings: "Invalid condition result", After: `resource "sim_object" "a" { name = "a" }
check "c" {
  assert {
    condition     = sim_object.a.name == "a" ? null : true
    error_message = "No."
  }
}`, Want: "create sim_object.a"},
		{Rule: "what isn't there is created", After: one, Want: "create sim_object.a"},
		{Rule: "what is as configured stays", Before: one, After: one},
		{Rule: "what is gone from the configuration is deleted", Before: one, After: "", Want: "delete sim_object.a delete_because_no_resource_config"},
		{Rule: "an attribute is updated", Before: one, After: `resource "sim_object" "a" { name = "other" }`, Want: "update sim_object.a"},
		{Rule: "an attribute that can't be updated replaces", Before: one, After: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
}`, Want: "delete-then-create sim_object.a replace_because_cannot_update"},
		{Rule: "create_before_destroy turns the order around", Before: one, After: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { create_before_destroy = true }
}`, Want: "create-then-delete sim_object.a replace_because_cannot_update"},
		{Rule: "prevent_destroy refuses", Before: one, After: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { prevent_destroy = true }
}`, Problems: "Resource instance cannot be destroyed"},
		{Rule: "ignore_changes keeps what is there", Before: one, After: `resource "sim_object" "a" {
  name = "other"
  lifecycle { ignore_changes = [name] }
}`},
		{Rule: "replace_triggered_by follows changes", Before: one + `resource "sim_object" "b" { name = "b" }`, After: `resource "sim_object" "a" { name = "other" }
resource "sim_object" "b" {
  name = "b"
  lifecycle { replace_triggered_by = [sim_object.a] }
}`, Want: "delete-then-create sim_object.b replace_by_triggers\nupdate sim_object.a"},
		{Rule: "-replace replaces", Before: one, After: one, Options: engine.PlanOptions{Replace: []addr.Instance{testkit.Targets("sim_object.a")[0].Instance()}},
			Want: "delete-then-create sim_object.a replace_by_request"},
		{Rule: "what was deleted outside is created again", Before: one, After: one,
			Outside: func(b *testkit.Bench) { b.SetRemote(b.ID("sim_object.a"), cty.NilVal) }, Want: "create sim_object.a"},
		{Rule: "without refreshing that isn't seen", Before: one, After: one, Options: engine.PlanOptions{SkipRefresh: true},
			Outside: func(b *testkit.Bench) { b.SetRemote(b.ID("sim_object.a"), cty.NilVal) }},
		{Rule: "destroying deletes everything", Before: chain, After: chain, Options: engine.PlanOptions{Mode: plan.Destroy},
			Want: "delete sim_object.a\ndelete sim_object.b\ndelete sim_object.c"},
		{Rule: "destroying a target takes what depends on it", Warnings: "Resource targeting is in effect", Before: chain, After: chain, Options: engine.PlanOptions{Mode: plan.Destroy, Targets: testkit.Targets("sim_object.b")},
			Want: "delete sim_object.b\ndelete sim_object.c"},
		{Rule: "destroying all but one keeps what that depends on", Warnings: "Resource targeting is in effect", Before: chain, After: chain, Options: engine.PlanOptions{Mode: plan.Destroy, Excludes: testkit.Targets("sim_object.b")},
			Want: "delete sim_object.c"},
		{Rule: "a target brings what it depends on", Warnings: "Resource targeting is in effect", After: chain, Options: engine.PlanOptions{Targets: testkit.Targets("sim_object.b")},
			Want: "create sim_object.a\ncreate sim_object.b"},
		{Rule: "an exclusion leaves out what depends on it", Warnings: "Resource targeting is in effect", After: chain, Options: engine.PlanOptions{Excludes: testkit.Targets("sim_object.b")},
			Want: "create sim_object.a"},
		{Rule: "moved gives another address", Before: one, After: `resource "sim_object" "x" { name = "a" }
moved {
  from = sim_object.a
  to   = sim_object.x
}`, Want: "no-op sim_object.x from sim_object.a"},
		{Rule: "moved takes a module along", Before: "module \"m\" { source = \"./m\" }\n-- m/main.tf --\n" + one, After: "module \"n\" { source = \"./m\" }\nmoved {\n  from = module.m\n  to = module.n\n}\n-- m/main.tf --\n" + one,
			Want: "no-op module.n.sim_object.a from module.m.sim_object.a"},
		{Rule: "moves may be repeated", Before: `resource "sim_object" "a" {
  for_each = toset(["p", "q"])
  name     = each.key
}`, After: `resource "sim_object" "x" {
  for_each = toset(["p", "q"])
  name     = each.key
}
moved {
  for_each = toset(["p", "q"])
  from     = sim_object.a[each.key]
  to       = sim_object.x[each.key]
}`, Want: "no-op sim_object.x[\"p\"] from sim_object.a[\"p\"]\nno-op sim_object.x[\"q\"] from sim_object.a[\"q\"]"},
		{Rule: "count that comes takes the object to 0", Before: one, After: `resource "sim_object" "a" {
  count = 2
  name  = "a"
}`, Want: "create sim_object.a[1]\nno-op sim_object.a[0] from sim_object.a"},
		{Rule: "a target on one side of a move is refused", Warnings: "Resource targeting is in effect", Before: one, After: `resource "sim_object" "x" { name = "a" }
moved {
  from = sim_object.a
  to   = sim_object.x
}`, Options: engine.PlanOptions{Targets: testkit.Targets("sim_object.x")}, Problems: "Moved resource instances excluded by targeting"},
		{Rule: "an exclusion on one side of a move is refused", Warnings: "Resource targeting is in effect", Before: one, After: `resource "sim_object" "x" { name = "a" }
moved {
  from = sim_object.a
  to   = sim_object.x
}`, Options: engine.PlanOptions{Excludes: testkit.Targets("sim_object.a")}, Problems: "Moved resource instances excluded by targeting"},
		{Rule: "removed forgets", Warnings: "Resource will be removed from the state", Before: one, After: `removed {
  from = sim_object.a
  lifecycle { destroy = false }
}`, Want: "forget sim_object.a delete_because_no_resource_config"},
		{Rule: "removed destroys where it says so", Before: one, After: `removed {
  from = sim_object.a
  lifecycle { destroy = true }
}`, Want: "delete sim_object.a delete_because_no_resource_config"},
		{Rule: "keys that are gone are deleted", Before: `resource "sim_object" "a" {
  for_each = toset(["p", "q"])
  name     = each.key
}`, After: `resource "sim_object" "a" {
  for_each = toset(["p"])
  name     = each.key
}`, Want: "delete sim_object.a[\"q\"] delete_because_each_key"},
		{Rule: "counts that are gone are deleted", Before: `resource "sim_object" "a" {
  count = 2
  name  = "a"
}`, After: `resource "sim_object" "a" {
  count = 1
  name  = "a"
}`, Want: "delete sim_object.a[1] delete_because_count_index"},
		{Rule: "a module that is gone is deleted", Before: "module \"m\" { source = \"./m\" }\n-- m/main.tf --\n" + one, After: "", Want: "delete module.m.sim_object.a delete_because_no_resource_config"},
		{Rule: "for_each has to be known", After: one + `resource "sim_object" "b" {
  for_each = toset([sim_object.a.id])
  name     = each.key
}`, Problems: "Invalid for_each argument"},
		{Rule: "count has to be known", After: one + `resource "sim_object" "b" {
  count = sim_object.a.size
  name  = "b"
}`, Problems: "Invalid count argument"},
		{Rule: "deferral puts off what isn't known", After: one + `resource "sim_object" "b" {
  for_each = toset([sim_object.a.id])
  name     = each.key
}`, Options: engine.PlanOptions{AllowDeferral: true}, Want: "create sim_object.a"},
		{Rule: "what is in doubt isn't created", After: chain, Options: engine.PlanOptions{InDoubt: []addr.Instance{testkit.Targets("sim_object.b")[0].Instance()}}, Want: "create sim_object.a"},
		{Rule: "data is read while planning", After: `data "sim_lookup" "d" { key = "k" }
resource "sim_object" "a" { name = data.sim_lookup.d.found }`, Want: "create sim_object.a"},
		{Rule: "data waits for what its configuration doesn't know", After: one + `data "sim_lookup" "d" { key = sim_object.a.id }`,
			Want: "create sim_object.a\nread data.sim_lookup.d read_because_config_unknown"},
		{Rule: "data waits for changes in depends_on", After: one + `data "sim_lookup" "d" {
  key        = "k"
  depends_on = [sim_object.a]
}`, Want: "create sim_object.a\nread data.sim_lookup.d read_because_dependency_pending"},
		{Rule: "a precondition stops", After: `variable "n" { default = 1 }
resource "sim_object" "a" {
  name = "a"
  lifecycle {
    precondition {
      condition     = var.n > 2
      error_message = "No."
    }
  }
}`, Problems: "Resource precondition failed"},
		{Rule: "checks only warn", Warnings: "Check block assertion failed", After: one + `variable "n" { default = 1 }
check "c" {
  assert {
    condition     = var.n > 2
    error_message = "No."
  }
}`, Want: "create sim_object.a"},
		{Rule: "ephemeral resources are opened and not planned", After: `ephemeral "sim_token" "t" { scope = "s" }
` + one, Want: "create sim_object.a"},
		{Rule: "refresh-only plans no changes", Before: one, After: `resource "sim_object" "a" { name = "other" }`, Options: engine.PlanOptions{Mode: plan.RefreshOnly}},
		{Rule: "imports come into the state", After: one + `import {
  to = sim_object.a
  id = "there"
}`, Outside: func(b *testkit.Bench) { b.SetRemote("there", testkit.Object("a", "there")) }, Want: "no-op sim_object.a"},
		{Rule: "an import that fails is told", After: one + `import {
  to = sim_object.a
  id = "there"
}`, Outside: func(b *testkit.Bench) { b.Fail("Import", "sim_object", "no way") }, Problems: "Scripted failure"},
		{Rule: "outputs change", Before: one, After: one + `output "o" { value = sim_object.a.id }`},
		{Rule: "a provider that fails is told", Before: one, After: one,
			Outside: func(b *testkit.Bench) { b.Fail("Read", "sim_object", "no way") }, Problems: "Scripted failure"},
	})
}
