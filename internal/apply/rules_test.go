package apply_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/testing/testkit"
)

const two = `resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.id
}
`

// greeting gives the provider a function that greets a text.
func greeting(b *testkit.Bench) {
	b.Functions["greet"] = fake.Function{
		Function: provider.Function{Parameters: []provider.Parameter{{Name: "name", Type: cty.String}}, Return: cty.String},
		Call:     func(args []cty.Value) (cty.Value, error) { return cty.StringVal("hello " + args[0].AsString()), nil },
	}
}

// TestRules has for each rule of applying what was applied before, what is applied
// then, and which objects the state has afterwards.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule          string
		before, after string
		outside       func(*testkit.Bench)
		options       engine.PlanOptions
		want          string // objects
		problems      string
		warnings      string // a rule without any is held to none
		outputs       string // where they matter
	}{
		{rule: "what is created is in the state with what it needs", after: two, want: "sim_object.a\nsim_object.b needs sim_object.a"},
		{rule: "a provider is configured by what was made", after: "resource \"sim_object\" \"a\" { name = \"a\" }\nprovider \"sim\" {\n  alias  = \"x\"\n  region = sim_object.a.id\n}\nresource \"sim_object\" \"b\" {\n  provider = sim.x\n  name     = \"b\"\n}\n", want: "sim_object.a\nsim_object.b needs sim_object.a"},
		{rule: "a failed condition afterwards is told", after: "resource \"sim_object\" \"a\" {\n  name = \"a\"\n  lifecycle {\n    postcondition {\n      condition     = self.id == \"other\"\n      error_message = \"No.\"\n    }\n  }\n}\n", want: "sim_object.a", problems: "Resource postcondition failed"},
		{rule: "removed runs what is to run at the end", before: two, after: "resource \"sim_object\" \"a\" { name = \"a\" }\nremoved {\n  from = sim_object.b\n  lifecycle { destroy = true }\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"exit 1\"\n  }\n}\n", want: "sim_object.a\nsim_object.b needs sim_object.a", problems: "local-exec provisioner error"},
		{rule: "outputs are computed from what was made", outputs: `o = cty.StringVal("id-1-x")`, after: "variable \"n\" { default = \"x\" }\nresource \"sim_object\" \"a\" { name = var.n }\noutput \"o\" { value = \"${sim_object.a.id}-${var.n}\" }\n", want: "sim_object.a"},
		{rule: "functions of providers are called again with what was made", after: `terraform {
  required_providers {
    sim = { source = "hashicorp/sim" }
  }
}
resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" { name = provider::sim::greet(sim_object.a.id) }
output "o" { value = "${provider::sim::greet(sim_object.a.id)}, ${sim_object.b.name}" }
`, outside: greeting, want: "sim_object.a\nsim_object.b needs sim_object.a", outputs: `o = cty.StringVal("hello id-1, hello id-1")`},
		{rule: "a function of a provider that fails at apply fails what needs it", after: `terraform {
  required_providers {
    sim = { source = "hashicorp/sim" }
  }
}
resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" { name = provider::sim::greet(sim_object.a.id) }
`, outside: func(b *testkit.Bench) {
			greeting(b)
			f := b.Functions["greet"]
			f.Call = func([]cty.Value) (cty.Value, error) { return cty.NilVal, errors.New("no greeting") }
			b.Functions["greet"] = f
		}, want: "sim_object.a", problems: "Error in function call"},
		{rule: "what is deleted isn't", before: two, after: "", want: ""},
		{rule: "destroying leaves nothing", before: two, after: two, options: engine.PlanOptions{Mode: plan.Destroy}, want: ""},
		{rule: "what can't be created isn't there, nor what needs it", after: two,
			outside: func(b *testkit.Bench) { b.Fail("Apply", "sim_object", "no way") }, problems: "Scripted failure"},
		{rule: "a failed deletion keeps the object", before: two, after: "",
			outside: func(b *testkit.Bench) { b.Fail("Apply", "sim_object", "no way") }, want: "sim_object.a\nsim_object.b needs sim_object.a", problems: "Scripted failure"},
		{rule: "a failed deletion that changed the object keeps what the state has of it", before: two, after: "",
			outside: func(b *testkit.Bench) {
				b.Resources["sim_object"].Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
					left := r.Prior.AsValueMap()
					left["secret"] = cty.StringVal("changed")
					out := provider.ApplyResponse{New: cty.ObjectVal(left)}
					out.Diags.Add(provider.Reported.As("Stuck").New(diag.Error, "It is in use."))
					return out
				}
			}, want: "sim_object.a\nsim_object.b needs sim_object.a", problems: "Stuck"},
		{rule: "an action after a creation is invoked with what the provisioners left", after: `resource "sim_object" "a" {
  name = "a"
  provisioner "local-exec" { command = "true" }
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.sim_note.made]
    }
  }
}
action "sim_note" "made" {
  config { text = "made ${caller.id}" }
}
`, outside: func(b *testkit.Bench) {
			note := fake.NewType("text string required")
			note.Invoke = func(config cty.Value, _ func(string)) diag.List {
				return provider.Reported.As("Note: " + config.GetAttr("text").AsString()).List("The pen is empty.")
			}
			b.Actions["sim_note"] = note
		}, want: "sim_object.a", problems: "Note: made id-1"},
		{rule: "a replacement before the end leaves one object", before: two, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { create_before_destroy = true }
}
resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.id
}
`, want: "sim_object.a\nsim_object.b needs sim_object.a"},
		{rule: "a replacement after the end leaves one object", before: two, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
}
`, want: "sim_object.a"},
		{rule: "a failed replacement leaves the old object aside", before: two, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { create_before_destroy = true }
}
resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.id
}
`, outside: func(b *testkit.Bench) { b.Fail("Apply", "sim_object", "no way") }, want: "sim_object.a\nsim_object.b needs sim_object.a", problems: "Scripted failure"},
		{rule: "a failed provisioner taints", after: `resource "sim_object" "a" {
  name = "a"
  provisioner "local-exec" { command = "exit 1" }
}`, want: "sim_object.a tainted", problems: "local-exec provisioner error"},
		{rule: "a provisioner may fail where that is said", warnings: "local-exec provisioner error", after: `resource "sim_object" "a" {
  name = "a"
  provisioner "local-exec" {
    command    = "exit 1"
    on_failure = continue
  }
}`, want: "sim_object.a"},
		{rule: "a provisioner of the end that fails keeps the object", before: `resource "sim_object" "a" {
  name = "a"
  provisioner "local-exec" {
    when    = destroy
    command = "exit 1"
  }
}`, after: `resource "sim_object" "a" {
  name = "a"
  provisioner "local-exec" {
    when    = destroy
    command = "exit 1"
  }
}`, options: engine.PlanOptions{Mode: plan.Destroy}, want: "sim_object.a", problems: "local-exec provisioner error"},
		{rule: "a postcondition fails the run and keeps the object", after: `resource "sim_object" "a" {
  name = "a"
  lifecycle {
    postcondition {
      condition     = self.size > 1000
      error_message = "No."
    }
  }
}`, want: "sim_object.a", problems: "Resource postcondition failed"},
		{rule: "data that waits is read in the apply", after: `resource "sim_object" "a" { name = "a" }
data "sim_lookup" "d" { key = sim_object.a.id }
resource "sim_object" "b" { name = data.sim_lookup.d.found }
output "o" { value = data.sim_lookup.d.found }
`, want: "data.sim_lookup.d\nsim_object.a\nsim_object.b needs data.sim_lookup.d needs sim_object.a"},
		{rule: "data that fails stops what needs it", after: `resource "sim_object" "a" { name = "a" }
data "sim_lookup" "d" { key = sim_object.a.id }
resource "sim_object" "b" { name = data.sim_lookup.d.found }
`, outside: func(b *testkit.Bench) { b.Fail("ReadData", "sim_lookup", "no way") }, want: "sim_object.a", problems: "Scripted failure"},
		{rule: "ephemeral resources are opened and not kept", after: `resource "sim_object" "a" { name = "a" }
ephemeral "sim_token" "t" { scope = sim_object.a.id }
resource "sim_object" "b" {
  name = "b"
  provisioner "local-exec" { command = "test -n '${ephemeral.sim_token.t.value}'" }
}
`, want: "sim_object.a\nsim_object.b needs ephemeral.sim_token.t needs sim_object.a"},
		{rule: "checks see what was applied", warnings: "Check block assertion known after apply\nCheck block assertion failed", after: `resource "sim_object" "a" { name = "a" }
check "c" {
  data "sim_lookup" "d" { key = sim_object.a.id }
  assert {
    condition     = data.sim_lookup.d.found == "?"
    error_message = "No."
  }
}
`, want: "data.sim_lookup.d\nsim_object.a"},
		{rule: "a check that what was applied meets doesn't warn after apply", warnings: "Check block assertion known after apply", after: `resource "sim_object" "a" { name = "a" }
check "c" {
  assert {
    condition     = sim_object.a.id == "id-1"
    error_message = "No."
  }
}
`, want: "sim_object.a"},
		{rule: "conditions of what stays are held to what is made", before: "resource \"sim_object\" \"a\" { name = \"a\" }\n", after: `resource "sim_object" "a" {
  name = "a"
  lifecycle {
    precondition {
      condition     = sim_object.b.id == "other"
      error_message = "No."
    }
  }
}
resource "sim_object" "b" { name = "b" }
`, want: "sim_object.a needs sim_object.b\nsim_object.b", problems: "Resource precondition failed"},
		{rule: "what was replaced goes before a check that names its successor and reads", warnings: "Check block assertion known after apply", before: `resource "sim_object" "a" {
  name = "a"
  lifecycle { create_before_destroy = true }
}
`, after: `resource "sim_object" "a" {
  name = "a"
  zone = "z"
  lifecycle { create_before_destroy = true }
}
check "c" {
  data "sim_lookup" "d" { key = "k" }
  assert {
    condition     = sim_object.a.id != data.sim_lookup.d.found
    error_message = "No."
  }
}
`, want: "data.sim_lookup.d\nsim_object.a"},
		{rule: "removed forgets without a call", warnings: "Resource will be removed from the state", before: two, after: `resource "sim_object" "a" { name = "a" }
removed {
  from = sim_object.b
  lifecycle { destroy = false }
}
`, want: "sim_object.a"},
		{rule: "moves only change addresses", before: two, after: strings.ReplaceAll(two, `"b"`, `"x"`) + "moved {\n  from = sim_object.b\n  to   = sim_object.x\n}\n",
			want: "sim_object.a\nsim_object.x needs sim_object.a"},
		{rule: "instances of modules are kept by their keys", after: `module "m" {
  for_each = toset(["p", "q"])
  source   = "./m"
  name     = each.key
}
output "o" { value = module.m["p"].id }
-- m/main.tf --
variable "name" {}
resource "sim_object" "a" { name = var.name }
output "id" { value = sim_object.a.id }
`, want: "module.m[\"p\"].sim_object.a\nmodule.m[\"q\"].sim_object.a"},
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
			diags := b.Apply(c.after, c.options)
			if got := testkit.Problems(diags); got != c.problems {
				t.Errorf("problems %q, want %q", got, c.problems)
			}
			if got := testkit.Warnings(diags); got != c.warnings {
				t.Errorf("warnings %q, want %q", got, c.warnings)
			}
			if got := testkit.Outputs(b.State); c.outputs != "" && got != c.outputs {
				t.Errorf("outputs\n%s\nwant\n%s", got, c.outputs)
			}
			if got := testkit.Objects(b.State); got != c.want {
				t.Errorf("objects\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
