package planner_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/proof/testkit"
	"weir.dev/weir/internal/word/addr"
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

func targets(texts ...string) (list []addr.Target) {
	for _, text := range texts {
		t, err := addr.ParseTarget(text)
		if err != nil {
			panic(err)
		}
		list = append(list, t)
	}
	return list
}

// TestRules has for each rule of planning what was applied before, what is planned
// then, and which changes or problems that makes.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule          string
		before, after string
		outside       func(*testkit.Bench) // what happens in between
		options       engine.PlanOptions
		want          string // changes
		problems      string
	}{
		{rule: "what isn't there is created", after: one, want: "create sim_object.a"},
		{rule: "what is as configured stays", before: one, after: one},
		{rule: "what is gone from the configuration is deleted", before: one, after: "", want: "delete sim_object.a delete_because_no_resource_config"},
		{rule: "an attribute is updated", before: one, after: `resource "sim_object" "a" { name = "other" }`, want: "update sim_object.a"},
		{rule: "an attribute that can't be updated replaces", before: one, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
}`, want: "delete-then-create sim_object.a replace_because_cannot_update"},
		{rule: "create_before_destroy turns the order around", before: one, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { create_before_destroy = true }
}`, want: "create-then-delete sim_object.a replace_because_cannot_update"},
		{rule: "prevent_destroy refuses", before: one, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { prevent_destroy = true }
}`, problems: "Resource instance cannot be destroyed"},
		{rule: "ignore_changes keeps what is there", before: one, after: `resource "sim_object" "a" {
  name = "other"
  lifecycle { ignore_changes = [name] }
}`},
		{rule: "replace_triggered_by follows changes", before: one + `resource "sim_object" "b" { name = "b" }`, after: `resource "sim_object" "a" { name = "other" }
resource "sim_object" "b" {
  name = "b"
  lifecycle { replace_triggered_by = [sim_object.a] }
}`, want: "delete-then-create sim_object.b replace_by_triggers\nupdate sim_object.a"},
		{rule: "-replace replaces", before: one, after: one, options: engine.PlanOptions{Replace: []addr.Instance{targets("sim_object.a")[0].Instance()}},
			want: "delete-then-create sim_object.a replace_by_request"},
		{rule: "what was deleted outside is created again", before: one, after: one,
			outside: func(b *testkit.Bench) { b.SetRemote(id(b, "sim_object.a"), cty.NilVal) }, want: "create sim_object.a"},
		{rule: "without refreshing that isn't seen", before: one, after: one, options: engine.PlanOptions{SkipRefresh: true},
			outside: func(b *testkit.Bench) { b.SetRemote(id(b, "sim_object.a"), cty.NilVal) }},
		{rule: "destroying deletes everything", before: chain, after: chain, options: engine.PlanOptions{Mode: plan.Destroy},
			want: "delete sim_object.a\ndelete sim_object.b\ndelete sim_object.c"},
		{rule: "destroying a target takes what depends on it", before: chain, after: chain, options: engine.PlanOptions{Mode: plan.Destroy, Targets: targets("sim_object.b")},
			want: "delete sim_object.b\ndelete sim_object.c"},
		{rule: "destroying all but one keeps what that depends on", before: chain, after: chain, options: engine.PlanOptions{Mode: plan.Destroy, Excludes: targets("sim_object.b")},
			want: "delete sim_object.c"},
		{rule: "a target brings what it depends on", after: chain, options: engine.PlanOptions{Targets: targets("sim_object.b")},
			want: "create sim_object.a\ncreate sim_object.b"},
		{rule: "an exclusion leaves out what depends on it", after: chain, options: engine.PlanOptions{Excludes: targets("sim_object.b")},
			want: "create sim_object.a"},
		{rule: "moved gives another address", before: one, after: `resource "sim_object" "x" { name = "a" }
moved {
  from = sim_object.a
  to   = sim_object.x
}`, want: "no-op sim_object.x from sim_object.a"},
		{rule: "moved takes a module along", before: "module \"m\" { source = \"./m\" }\n-- m/main.tf --\n" + one, after: "module \"n\" { source = \"./m\" }\nmoved {\n  from = module.m\n  to = module.n\n}\n-- m/main.tf --\n" + one,
			want: "no-op module.n.sim_object.a from module.m.sim_object.a"},
		{rule: "moves may be repeated", before: `resource "sim_object" "a" {
  for_each = toset(["p", "q"])
  name     = each.key
}`, after: `resource "sim_object" "x" {
  for_each = toset(["p", "q"])
  name     = each.key
}
moved {
  for_each = toset(["p", "q"])
  from     = sim_object.a[each.key]
  to       = sim_object.x[each.key]
}`, want: "no-op sim_object.x[\"p\"] from sim_object.a[\"p\"]\nno-op sim_object.x[\"q\"] from sim_object.a[\"q\"]"},
		{rule: "count that comes takes the object to 0", before: one, after: `resource "sim_object" "a" {
  count = 2
  name  = "a"
}`, want: "create sim_object.a[1]\nno-op sim_object.a[0] from sim_object.a"},
		{rule: "a target on one side of a move is refused", before: one, after: `resource "sim_object" "x" { name = "a" }
moved {
  from = sim_object.a
  to   = sim_object.x
}`, options: engine.PlanOptions{Targets: targets("sim_object.x")}, problems: "Moved resource instances excluded by targeting"},
		{rule: "removed forgets", before: one, after: `removed {
  from = sim_object.a
  lifecycle { destroy = false }
}`, want: "forget sim_object.a delete_because_no_resource_config"},
		{rule: "removed destroys where it says so", before: one, after: `removed {
  from = sim_object.a
  lifecycle { destroy = true }
}`, want: "delete sim_object.a delete_because_no_resource_config"},
		{rule: "keys that are gone are deleted", before: `resource "sim_object" "a" {
  for_each = toset(["p", "q"])
  name     = each.key
}`, after: `resource "sim_object" "a" {
  for_each = toset(["p"])
  name     = each.key
}`, want: "delete sim_object.a[\"q\"] delete_because_each_key"},
		{rule: "counts that are gone are deleted", before: `resource "sim_object" "a" {
  count = 2
  name  = "a"
}`, after: `resource "sim_object" "a" {
  count = 1
  name  = "a"
}`, want: "delete sim_object.a[1] delete_because_count_index"},
		{rule: "a module that is gone is deleted", before: "module \"m\" { source = \"./m\" }\n-- m/main.tf --\n" + one, after: "", want: "delete module.m.sim_object.a delete_because_no_resource_config"},
		{rule: "for_each has to be known", after: one + `resource "sim_object" "b" {
  for_each = toset([sim_object.a.id])
  name     = each.key
}`, problems: "Invalid for_each argument"},
		{rule: "count has to be known", after: one + `resource "sim_object" "b" {
  count = sim_object.a.size
  name  = "b"
}`, problems: "Invalid count argument"},
		{rule: "deferral puts off what isn't known", after: one + `resource "sim_object" "b" {
  for_each = toset([sim_object.a.id])
  name     = each.key
}`, options: engine.PlanOptions{AllowDeferral: true}, want: "create sim_object.a"},
		{rule: "what is in doubt isn't created", after: chain, options: engine.PlanOptions{InDoubt: []addr.Instance{targets("sim_object.b")[0].Instance()}}, want: "create sim_object.a"},
		{rule: "data is read while planning", after: `data "sim_lookup" "d" { key = "k" }
resource "sim_object" "a" { name = data.sim_lookup.d.found }`, want: "create sim_object.a"},
		{rule: "data waits for what its configuration doesn't know", after: one + `data "sim_lookup" "d" { key = sim_object.a.id }`,
			want: "create sim_object.a\nread data.sim_lookup.d read_because_config_unknown"},
		{rule: "data waits for changes in depends_on", after: one + `data "sim_lookup" "d" {
  key        = "k"
  depends_on = [sim_object.a]
}`, want: "create sim_object.a\nread data.sim_lookup.d read_because_dependency_pending"},
		{rule: "a precondition stops", after: `variable "n" { default = 1 }
resource "sim_object" "a" {
  name = "a"
  lifecycle {
    precondition {
      condition     = var.n > 2
      error_message = "No."
    }
  }
}`, problems: "Resource precondition failed"},
		{rule: "checks only warn", after: one + `variable "n" { default = 1 }
check "c" {
  assert {
    condition     = var.n > 2
    error_message = "No."
  }
}`, want: "create sim_object.a"},
		{rule: "ephemeral resources are opened and not planned", after: `ephemeral "sim_token" "t" { scope = "s" }
` + one, want: "create sim_object.a"},
		{rule: "refresh-only plans no changes", before: one, after: `resource "sim_object" "a" { name = "other" }`, options: engine.PlanOptions{Mode: plan.RefreshOnly}},
		{rule: "imports come into the state", after: one + `import {
  to = sim_object.a
  id = "there"
}`, outside: func(b *testkit.Bench) { b.SetRemote("there", object("a", "there")) }, want: "no-op sim_object.a"},
		{rule: "an import that fails is told", after: one + `import {
  to = sim_object.a
  id = "there"
}`, outside: func(b *testkit.Bench) { b.Fail("Import", "sim_object", "no way") }, problems: "Scripted failure"},
		{rule: "outputs change", before: one, after: one + `output "o" { value = sim_object.a.id }`},
		{rule: "a provider that fails is told", before: one, after: one,
			outside: func(b *testkit.Bench) { b.Fail("Read", "sim_object", "no way") }, problems: "Scripted failure"},
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
			_, p, diags := b.Plan(c.after, c.options)
			if got := testkit.Problems(diags); got != c.problems {
				t.Errorf("problems %q, want %q", got, c.problems)
			}
			if got := testkit.Changes(p); c.problems == "" && got != c.want {
				t.Errorf("changes\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// id is what an object is known by.
func id(b *testkit.Bench, address string) string {
	o := b.State.Objects[addr.Object{Instance: targets(address)[0].Instance()}]
	_, rest, _ := strings.Cut(string(o.JSON), `"id":`)
	return strings.Trim(strings.SplitN(strings.TrimSpace(rest), ",", 2)[0], "\"} \n")
}

// object is one of the provider's objects.
func object(name, id string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal(name), "id": cty.StringVal(id), "size": cty.NumberIntVal(1),
		"zone": cty.NullVal(cty.String), "parent": cty.NullVal(cty.String), "secret": cty.NullVal(cty.String),
	})
}
