package symbols_test

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/testing/testkit"
)

const text = `variable "n" {
  validation {
    condition     = var.n > 0
    error_message = "No."
  }
}
locals { l = sim_object.a[0].id }
provider "sim" {
  alias  = "x"
  region = var.n
}
resource "sim_object" "a" {
  count = var.n
  name  = "a"
  lifecycle { prevent_destroy = var.n > 1 }
}
resource "sim_object" "b" {
  provider   = sim.x
  name       = local.l
  depends_on = [module.m]
  provisioner "local-exec" { command = var.n }
}
data "sim_lookup" "d" { key = module.m.out }
ephemeral "sim_token" "t" { scope = "s" }
check "c" {
  data "sim_lookup" "e" { key = "k" }
  assert {
    condition     = data.sim_lookup.e.found != ""
    error_message = "No."
  }
}
module "m" {
  source    = "./m"
  for_each  = toset([sim_object.a[0].id])
  in        = local.l
  providers = { sim = sim.x }
}
output "o" {
  value      = module.m
  depends_on = [sim_object.b]
}
-- m/main.tf --
variable "in" {}
resource "sim_object" "inner" { name = var.in }
ephemeral "sim_token" "inner" { scope = "s" }
check "inner" {
  data "sim_lookup" "inner" { key = "k" }
  assert {
    condition     = data.sim_lookup.inner.found != ""
    error_message = "No."
  }
}
output "out" { value = sim_object.inner.id }
`

// TestOutline has the declarations with what they refer to, what serves them and what
// they depend on.
func TestOutline(t *testing.T) {
	c, diags := testkit.New(t).Load(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	got := map[string]string{}
	for _, d := range symbols.Of(c.Tree) {
		line := string(d.Kind)
		if d.Repeat != "" {
			line += " by " + d.Repeat
		}
		if d.Provider.Alias != "" {
			line += " of " + d.Provider.Alias
			if d.ServedAt.Filename == "" {
				line += ", which nothing names"
			}
		}
		for _, r := range d.Refers {
			line += fmt.Sprintf(" %s=%s", r.Argument, r.To.Address())
		}
		if len(d.DependsOn) > 0 {
			line += " needs " + strings.Join(d.DependsOn, " ")
		}
		got[d.Address()] = line
	}
	for address, want := range map[string]string{
		"var.n":                     "variable validation=var.n",
		"local.l":                   "local value=sim_object.a",
		"sim_object.a":              "resource by count count=var.n prevent_destroy=var.n",
		"sim_object.b":              "resource of x config=local.l depends_on=module.m.output.out depends_on=module.m.sim_object.inner provisioner=var.n needs module.m.sim_object.inner sim_object.a",
		"data.sim_lookup.d":         "data config=module.m.output.out needs module.m.sim_object.inner sim_object.a",
		"ephemeral.sim_token.t":     "ephemeral",
		"check.c":                   "check data=data.sim_lookup.e assert=data.sim_lookup.e",
		"module.m":                  "call by for_each for_each=sim_object.a",
		"module.m.var.in":           "variable input=local.l",
		"module.m.sim_object.inner": "resource of x config=module.m.var.in needs sim_object.a",
		"output.o":                  "output value=module.m.output.out depends_on=sim_object.b",
		`provider["` + testkit.Sim.String() + `"].x`: "provider config=var.n",
	} {
		if got[address] != want {
			t.Errorf("%s: %s\nwant %s", address, got[address], want)
		}
		delete(got, address)
	}
	for _, more := range []string{"module.m.output.out", "module.m.ephemeral.sim_token.inner", "module.m.check.inner", "module.m.data.sim_lookup.inner", "data.sim_lookup.e"} {
		if got[more] == "" {
			t.Errorf("%s isn't there", more)
		}
		delete(got, more)
	}
	if len(got) > 0 {
		t.Errorf("there is more: %v", got)
	}
}

// TestImpact has what depends on a declaration, with the way there.
func TestImpact(t *testing.T) {
	c, diags := testkit.New(t).Load(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	all := symbols.Of(c.Tree)
	for _, test := range []struct{ of, want string }{
		{"output.o", ""},
		{"check.c", ""},
		{"data.sim_lookup.e", "check.c by data"},
		{"sim_object.b", "output.o by depends_on"},
		{"ephemeral.sim_token.t", ""},
		{"module.m.sim_object.inner", "sim_object.b by depends_on, module.m.output.out by value, output.o by depends_on, data.sim_lookup.d by config"},
		{"sim_object.a[0]", "local.l by value, module.m by for_each, sim_object.b by config, module.m.var.in by input, " +
			"module.m.output.out by module, module.m.sim_object.inner by module, module.m.ephemeral.sim_token.inner by module, " +
			"module.m.data.sim_lookup.inner by module, module.m.check.inner by module, output.o by depends_on, data.sim_lookup.d by config"},
		{`provider["` + testkit.Sim.String() + `"].x`, "sim_object.b by provider, module.m.sim_object.inner by provider, module.m.ephemeral.sim_token.inner by provider, " +
			"module.m.data.sim_lookup.inner by provider, output.o by depends_on, module.m.output.out by value, module.m.check.inner by data, data.sim_lookup.d by config"},
	} {
		of, missing := symbols.Chosen(all, []string{test.of})
		var got []string
		for _, way := range symbols.Impact(all, of) {
			last := way[len(way)-1]
			got = append(got, way.To().Address()+" by "+last.Argument)
			if last.Argument == "value" && last.Range.Filename == "" || way[0].From != of[0] {
				t.Errorf("%s: way %+v", test.of, way)
			}
		}
		if text := strings.Join(got, ", "); text != test.want || missing != nil {
			t.Errorf("%s: %s\nwant %s (missing %v)", test.of, text, test.want, missing)
		}
	}
}
