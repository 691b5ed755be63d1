package planner_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// TestEnds is about objects that end: destroyed, swept, forgotten, or spared.
func TestEnds(t *testing.T) {
	const kept = `resource "sim_object" "a" {
  name = "a"
  lifecycle { destroy = false }
}
`
	const guarded = `resource "sim_object" "a" {
  name = "a"
  lifecycle { prevent_destroy = true }
}
`
	const data = `data "sim_lookup" "d" { key = "k" }
resource "sim_object" "a" { name = data.sim_lookup.d.found }
`
	destroy := engine.PlanOptions{Mode: plan.Destroy}
	testkit.Rules(t, []testkit.Rule{
		{Rule: "destroying forgets what isn't to be destroyed", Before: kept, After: kept, Options: destroy, Want: "forget sim_object.a forgot_because_lifecycle_destroy_in_config"},
		{Rule: "what was not to be destroyed is forgotten without its block", Warnings: "Resource will be removed from the state", Before: kept, After: "", Want: "forget sim_object.a forgot_because_lifecycle_destroy_in_state"},
		{Rule: "destroying refuses what is protected", Before: guarded, After: guarded, Options: destroy, Problems: "Resource instance cannot be destroyed"},
		{Rule: "a lost block protects nothing", Before: guarded, After: "", Want: "delete sim_object.a delete_because_no_resource_config"},
		{Rule: "a block that is left protects instances it lost", Before: `resource "sim_object" "a" {
  count = 2
  name  = "a"
  lifecycle { prevent_destroy = true }
}`, After: `resource "sim_object" "a" {
  count = 1
  name  = "a"
  lifecycle { prevent_destroy = true }
}`, Problems: "Resource instance cannot be destroyed"},
		{Rule: "unprotected, everything may be destroyed", Before: guarded, After: guarded, Options: engine.PlanOptions{Mode: plan.Destroy, Unprotected: true}, Want: "delete sim_object.a"},
		{Rule: "destroying leaves out what is gone", Before: chain, After: chain, Options: destroy,
			Outside: func(b *testkit.Bench) { b.SetRemote(b.ID("sim_object.b"), cty.NilVal) }, Want: "delete sim_object.a\ndelete sim_object.c"},
		{Rule: "destroying needs no data", Before: data, After: data, Options: destroy,
			Outside: func(b *testkit.Bench) { b.Fail("ReadData", "sim_lookup", "no way") }, Want: "delete sim_object.a"},
		{Rule: "destroying configures providers by stored values", Before: "provider \"sim\" {\n  alias  = \"x\"\n  region = data.sim_lookup.d.found\n}\nresource \"sim_object\" \"b\" {\n  provider = sim.x\n  name     = \"b\"\n}\n" + data,
			After: "provider \"sim\" {\n  alias  = \"x\"\n  region = data.sim_lookup.d.found\n}\nresource \"sim_object\" \"b\" {\n  provider = sim.x\n  name     = \"b\"\n}\n" + data, Options: destroy,
			Want: "delete sim_object.a\ndelete sim_object.b"},
		{Rule: "destroying deletes in modules", Before: "module \"m\" {\n  source = \"./m\"\n  count  = 2\n}\n-- m/main.tf --\n" + one, After: "module \"m\" {\n  source = \"./m\"\n  count  = 1\n}\n-- m/main.tf --\n" + one, Options: destroy,
			Want: "delete module.m[0].sim_object.a\ndelete module.m[1].sim_object.a"},
		{Rule: "destroying part of it keeps outputs that read the rest", Warnings: "Resource targeting is in effect", Before: chain + `output "o" { value = [sim_object.a.id, sim_object.c.id] }`, After: chain + `output "o" { value = [sim_object.a.id, sim_object.c.id] }`,
			Options: engine.PlanOptions{Mode: plan.Destroy, Targets: testkit.Targets("sim_object.c")}, Want: "delete sim_object.c",
			See: outputs("")},
		{Rule: "destroying ends outputs of what is destroyed", Warnings: "Resource targeting is in effect", Before: chain + `output "o" { value = sim_object.c.id }`, After: chain + `output "o" { value = sim_object.c.id }`,
			Options: engine.PlanOptions{Mode: plan.Destroy, Targets: testkit.Targets("sim_object.c")}, Want: "delete sim_object.c",
			See: outputs("o delete")},
		{Rule: "what others in doubt need is spared", Before: chain, After: chain, Options: engine.PlanOptions{Mode: plan.Destroy, Needed: []addr.Resource{testkit.Targets("sim_object.a")[0].Instance().Resource}},
			Want: "delete sim_object.b\ndelete sim_object.c"},
		{Rule: "destroying waits for nothing that stays", Before: "provider \"sim\" {\n  alias  = \"x\"\n  region = sim_object.a.id\n}\nresource \"sim_object\" \"b\" {\n  provider = sim.x\n  name     = \"b\"\n}\n" + one,
			After:   "provider \"sim\" {\n  alias  = \"x\"\n  region = sim_object.a.id\n}\n" + one,
			Options: engine.PlanOptions{Mode: plan.Destroy, AllowDeferral: true, Needed: []addr.Resource{testkit.Targets("sim_object.a")[0].Instance().Resource}},
			Want:    "delete sim_object.b", See: deferred("sim_object.a")},
		{Rule: "an object set aside is deleted", Before: one, After: one, Outside: func(b *testkit.Bench) {
			a := addr.Object{Instance: testkit.Targets("sim_object.a")[0].Instance()}
			b.State = b.State.Clone()
			old := *b.State.Objects[a]
			a.Deposed = "00000001"
			b.State.Objects[a] = &old
		}, Want: "delete sim_object.a (deposed object 00000001)"},
		{Rule: "a tainted object is replaced", Before: one, After: one, Outside: func(b *testkit.Bench) {
			a := addr.Object{Instance: testkit.Targets("sim_object.a")[0].Instance()}
			b.State = b.State.Clone()
			old := *b.State.Objects[a]
			old.Tainted = true
			b.State.Objects[a] = &old
		}, Want: "delete-then-create sim_object.a replace_because_tainted"},
		{Rule: "the end of an object needs its provider", Before: "provider \"sim\" {\n  alias = \"x\"\n}\nresource \"sim_object\" \"a\" {\n  provider = sim.x\n  name     = \"a\"\n}", After: "", Problems: "Provider configuration not present"},
		{Rule: "-replace names something that there is", Warnings: "Incompletely-matched force-replace resource instance", Before: one, After: one, Options: engine.PlanOptions{Replace: []addr.Instance{testkit.Targets("sim_object.z")[0].Instance()}}},
		{Rule: "-replace has the keys that there are", Warnings: "Incompletely-matched force-replace resource instance", Before: one, After: one, Options: engine.PlanOptions{Replace: []addr.Instance{testkit.Targets("sim_object.a[0]")[0].Instance()}}},
		{Rule: "disabling deletes", Before: one, After: `resource "sim_object" "a" {
  name = "a"
  lifecycle { enabled = false }
}`, Want: "delete sim_object.a delete_because_enabled_false"},
		{Rule: "another repetition deletes", Before: `resource "sim_object" "a" {
  count = 1
  name  = "a"
}`, After: `resource "sim_object" "a" {
  for_each = toset(["p"])
  name     = each.key
}`, Want: "create sim_object.a[\"p\"]\ndelete sim_object.a[0] delete_because_wrong_repetition"},
	})
}

// outputs checks what becomes of outputs.
func outputs(want string) func(*testing.T, *engine.Config, *plan.Plan) {
	return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		got := ""
		for _, o := range p.Outputs {
			got += o.Name + " " + o.Action.String()
		}
		if got != want {
			t.Errorf("outputs %q, want %q", got, want)
		}
	}
}

// TestOutputs is about what becomes of outputs, and whether a plan has changes.
func TestOutputs(t *testing.T) {
	out := func(value string) string { return one + `output "o" { value = ` + value + ` }` }
	testkit.Rules(t, []testkit.Rule{
		{Rule: "a new output is created", Before: one, After: out(`"x"`), See: outputs("o create")},
		{Rule: "an output that stays is no change", Before: out(`"x"`), After: out(`"x"`), See: outputs("o no-op")},
		{Rule: "an output with another value is updated", Before: out(`"x"`), After: out(`"y"`), See: outputs("o update")},
		{Rule: "an output that is gone is deleted", Before: out(`"x"`), After: one, See: outputs("o delete")},
		{Rule: "an output that becomes null is deleted", Before: out(`"x"`), After: out(`null`), See: outputs("o delete")},
		{Rule: "an output that hides its value is updated", Before: out(`"x"`), After: one + "output \"o\" {\n  value     = \"x\"\n  sensitive = true\n}", See: outputs("o update")},
	})
}

// TestWaits is about what is read, opened or planned later.
func TestWaits(t *testing.T) {
	deferral := engine.PlanOptions{AllowDeferral: true}
	unknown := one + `resource "sim_object" "b" {
  for_each = toset([sim_object.a.id])
  name     = each.key
}
`
	testkit.Rules(t, []testkit.Rule{
		{Rule: "deferral puts off data behind it", After: unknown + `data "sim_lookup" "d" { key = join(",", keys(sim_object.b)) }`, Options: deferral, Want: "create sim_object.a", See: deferred("data.sim_lookup.d sim_object.b[*]")},
		{Rule: "deferral puts off resources behind it", After: unknown + `resource "sim_object" "c" { name = join(",", keys(sim_object.b)) }`, Options: deferral, Want: "create sim_object.a", See: deferred("sim_object.b[*] sim_object.c")},
		{Rule: "deferral puts off modules", After: one + `module "m" {
  source   = "./m"
  for_each = toset([sim_object.a.id])
}
-- m/main.tf --
resource "sim_object" "b" { name = "b" }`, Options: deferral, Want: "create sim_object.a", See: deferred("module.m[*].sim_object.b")},
		{Rule: "data waits for objects that leave", Before: chain, After: one + `data "sim_lookup" "d" {
  key        = "k"
  depends_on = [module.m]
}
module "m" { source = "./m" }
-- m/main.tf --
resource "sim_object" "x" { name = "x" }`, Want: "create module.m.sim_object.x\ndelete sim_object.b delete_because_no_resource_config\ndelete sim_object.c delete_because_no_resource_config\nread data.sim_lookup.d read_because_dependency_pending"},
		{Rule: "data that a condition looks at waits for what is below", After: one + `locals { l = sim_object.a.name }
data "sim_lookup" "d" {
  key = local.l
  lifecycle {
    postcondition {
      condition     = self.found != ""
      error_message = "No."
    }
  }
}`, Want: "create sim_object.a\nread data.sim_lookup.d read_because_dependency_pending"},
		{Rule: "data in checks is read again when applied", Warnings: "Check block assertion known after apply", After: one + `check "c" {
  data "sim_lookup" "d" { key = sim_object.a.id }
  assert {
    condition     = data.sim_lookup.d.found != ""
    error_message = "No."
  }
}`, Want: "create sim_object.a\nread data.sim_lookup.d read_because_config_unknown"},
		{Rule: "data of a check that fails is a warning", Warnings: "Scripted failure", After: `check "c" {
  data "sim_lookup" "d" { key = "k" }
  assert {
    condition     = data.sim_lookup.d.found != ""
    error_message = "No."
  }
}`, Outside: func(b *testkit.Bench) { b.Fail("ReadData", "sim_lookup", "no way") }},
		{Rule: "ephemeral resources that aren't known wait", After: one + `ephemeral "sim_token" "t" { scope = sim_object.a.id }
provider "sim" {
  alias  = "x"
  region = ephemeral.sim_token.t.value
}
resource "sim_object" "b" {
  provider = sim.x
  name     = "b"
}`, Want: "create sim_object.a\ncreate sim_object.b"},
		{Rule: "a provisioner that engines had is refused", After: `resource "sim_object" "a" {
  name = "a"
  provisioner "chef" {}
}`, Problems: "The \"chef\" provisioner has been removed"},
		{Rule: "a trigger may be an attribute", Before: one + `resource "sim_object" "b" { name = "b" }`, After: `resource "sim_object" "a" {
  name   = "a"
  parent = "p"
}
resource "sim_object" "b" {
  name = "b"
  lifecycle { replace_triggered_by = [sim_object.a.name] }
}`, Want: "update sim_object.a"},
		{Rule: "a trigger may have a key", Before: "resource \"sim_object\" \"a\" {\n  count = 1\n  name  = \"a\"\n}\nresource \"sim_object\" \"b\" { name = \"b\" }", After: `resource "sim_object" "a" {
  count = 1
  name  = "x"
}
resource "sim_object" "b" {
  name = "b"
  lifecycle { replace_triggered_by = [sim_object.a[0].name] }
}`, Want: "delete-then-create sim_object.b replace_by_triggers\nupdate sim_object.a[0]"},
		{Rule: "targets leave outputs of the rest", Warnings: "Resource targeting is in effect", Before: chain + `output "o" { value = sim_object.a.name }`, After: chain + `output "o" { value = sim_object.a.size }
output "p" { value = sim_object.c.name }`, Options: engine.PlanOptions{Targets: testkit.Targets("sim_object.a")}, See: outputs("o update")},
		{Rule: "excluding keeps what is there", Warnings: "Resource targeting is in effect", Before: chain, After: `resource "sim_object" "a" { name = "other" }
resource "sim_object" "b" { name = "other" }`, Options: engine.PlanOptions{Excludes: testkit.Targets("sim_object.b", "sim_object.c")}, Want: "update sim_object.a"},
	})
}

// deferred checks which changes are deferred.
func deferred(want string) func(*testing.T, *engine.Config, *plan.Plan) {
	return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		got := ""
		for _, d := range p.Deferred {
			got += " " + d.Change.Addr.String()
		}
		if got != " "+want {
			t.Errorf("deferred%s, want %s", got, want)
		}
	}
}
