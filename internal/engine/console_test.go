package engine_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/testing/testkit"
)

const world = `variable "v" {
  default = 1
}
variable "w" { type = string }
locals { l = [var.v, 2] }
resource "sim_object" "a" {
  name   = "a"
  secret = "s"
}
resource "sim_object" "b" {
  count = 2
  name  = "b"
}
ephemeral "sim_token" "t" {}
module "m" { source = "./m" }
-- m/main.tf --
output "o" { value = "from m" }
`

// TestConsole has what expressions come to against a state.
func TestConsole(t *testing.T) {
	b := testkit.New(t)
	if diags := b.Apply("resource \"sim_object\" \"a\" {\n  name   = \"a\"\n  secret = \"s\"\n}", engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	c, diags := b.Load(world)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	k, diags := engine.NewConsole(t.Context(), c, b.State)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer k.Close()
	for text, want := range map[string]string{
		`1 + 1`:                       "2",
		`local.l`:                     "[1 2]",
		`sim_object.a.name`:           `"a"`,
		`sim_object.a.secret`:         "sensitive",
		`sim_object.b[1].name`:        "unknown",
		`var.w`:                       "unknown",
		`ephemeral.sim_token.t.value`: "ephemeral",
		`module.m.o`:                  `"from m"`,
		`terraform.workspace`:         `"default"`,
		`sim_object.z`:                "Reference to undeclared resource",
		`1 +`:                         "Missing expression",
		`tonumber("x")`:               "Invalid function argument",
	} {
		v, diags := k.Eval(text)
		got := shown(v)
		if diags.HasErrors() {
			got = diags[0].Summary
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestOpenConsole has what expressions come to in module instances, and with a plan.
func TestOpenConsole(t *testing.T) {
	b := testkit.New(t)
	if diags := b.Apply("resource \"sim_object\" \"a\" {\n  name = \"a\"\n}", engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	const text = `variable "w" { type = string }
resource "sim_object" "a" { name = "b" }
module "m" {
  source   = "./m"
  for_each = toset(["x", "y"])
  in       = "${each.key}-${sim_object.a.name}"
}
-- m/main.tf --
variable "in" {}
locals { at = path.module }
`
	for name, c := range map[string]struct {
		text  string // what the configuration has beside that
		scope string
		plan  bool
		expr  string
		want  string // a value, or the summary of a problem
	}{
		"state":            {"", "", false, `sim_object.a.name`, `"a"`},
		"plan":             {"", "", true, `sim_object.a.name`, `"b"`},
		"module":           {"", `module.m["x"]`, false, `var.in`, `"x-a"`},
		"planned module":   {"", `module.m["y"]`, true, `[var.in, local.at]`, `["y-b" "m"]`},
		"without a value":  {"", "", true, `var.w`, "unknown"},
		"time":             {"", "", true, `timestamp()`, "unknown"},
		"nobody's":         {"", `module.m["x"]`, true, `sim_object.a`, "Reference to undeclared resource"},
		"no key":           {"", `module.m`, false, ``, "No such module instance"},
		"wrong key":        {"", `module.m["z"]`, true, ``, "No such module instance"},
		"no module":        {"", `module.n`, true, ``, "No such module instance"},
		"no inner module":  {"", `module.m["x"].module.n`, false, ``, "No such module instance"},
		"failed elsewhere": {`output "o" { value = tonumber("${sim_object.a.name}") }`, "", true, `sim_object.a.name`, `"b"`},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			config, diags := b.Load(c.text + "\n" + text)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			o := engine.ConsoleOptions{Planned: c.plan}
			if c.scope != "" {
				var err error
				if o.Scope, err = addr.ParseModule(c.scope); err != nil {
					t.Fatal(err)
				}
			}
			k, diags := engine.OpenConsole(t.Context(), config, b.State, o)
			if k == nil {
				if diags[len(diags)-1].Summary != c.want {
					t.Fatalf("got %v, want %s", diags, c.want)
				}
				return
			}
			defer k.Close()
			if diags.HasErrors() != (c.text != "") {
				t.Errorf("problems of the plan: %v", diags)
			}
			v, diags := k.Eval(c.expr)
			got := shown(v)
			if diags.HasErrors() {
				got = diags[0].Summary
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// shown is a value as this test has it.
func shown(v cty.Value) string {
	switch {
	case value.IsSensitive(v):
		return "sensitive"
	case v.IsMarked():
		return "ephemeral"
	case !v.IsKnown():
		return "unknown"
	case v.Type() == cty.String:
		return `"` + v.AsString() + `"`
	case v.Type() == cty.Number:
		return v.AsBigFloat().String()
	}
	var parts []string
	for _, e := range v.AsValueSlice() {
		parts = append(parts, shown(e))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// TestAssess checks conditions from outside on real objects.
func TestAssess(t *testing.T) {
	b := testkit.New(t)
	c, diags := b.Load("locals { l = 1 }\nlocals { bad = tonumber(\"x\") }")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	k, diags := engine.NewConsole(t.Context(), c, nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer k.Close()
	expr := func(text string) *program.Expr {
		e, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return &program.Expr{Expression: e}
	}
	given := map[string]cty.Value{"run": cty.ObjectVal(map[string]cty.Value{"n": cty.NumberIntVal(2)})}
	outcomes, _ := k.Assess([]*program.Condition{
		{Condition: expr("run.n == 2"), ErrorMessage: expr(`"no"`)},
		{Condition: expr("run.n == 3"), ErrorMessage: expr(`"n is ${run.n}"`)},
	}, given)
	if outcomes[0].Status != eval.Pass || outcomes[1].Status != eval.Fail || outcomes[1].Message != "n is 2" {
		t.Errorf("got %+v", outcomes)
	}
}

func TestUnfinished(t *testing.T) {
	for text, want := range map[string]bool{
		"1 + 1": false, "[1,": true, "{": true, "f(1": true, "<<E\nx": true, "<<E\nx\nE\n": false, `"${`: true, "[]": false,
	} {
		if engine.Unfinished(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// TestInputs has what becomes of values of root variables.
func TestInputs(t *testing.T) {
	const text = `variable "text" {}
variable "list" { type = list(number) }
`
	for rule, c := range map[string]struct {
		inputs map[string]module.VariableInput
		want   string // of [text, list]
	}{
		"texts stay, others are read":           {map[string]module.VariableInput{"text": {Text: "[1]"}, "list": {Text: "[1]"}}, `["[1]" [1]]`},
		"values are taken":                      {map[string]module.VariableInput{"text": {Value: cty.StringVal("x")}, "list": {Value: cty.ListVal([]cty.Value{cty.Zero})}}, `["x" [0]]`},
		"what isn't declared is a mistake":      {map[string]module.VariableInput{"none": {Text: "x", From: "argument"}}, "Value for undeclared variable"},
		"in files it is only told":              {map[string]module.VariableInput{"none": {Text: "x", From: "file"}, "text": {Text: "x"}, "list": {Text: "[]"}}, `["x" []]`},
		"in the environment it isn't a mistake": {map[string]module.VariableInput{"none": {Text: "x", From: "environment"}, "text": {Text: "x"}, "list": {Text: "[]"}}, `["x" []]`},
		"what can't be read is a mistake":       {map[string]module.VariableInput{"list": {Text: "["}}, "Missing expression"},
	} {
		t.Run(strings.ReplaceAll(rule, " ", "_"), func(t *testing.T) {
			loaded, diags := engine.Load(t.Context(), engine.LoadOptions{Dir: ".", Files: module.Memory{"main.tf": []byte(text)}, Inputs: c.inputs})
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			got := ""
			k, diags := engine.NewConsole(t.Context(), loaded, nil)
			if diags.HasErrors() {
				got = diags[0].Summary
			} else {
				v, more := k.Eval("[var.text, var.list]")
				if more.HasErrors() {
					t.Fatal(more.Err())
				}
				got = shown(v)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestMeaningIn(t *testing.T) {
	if m := engine.MeaningIn(dialect.OpenTofu); m.RemovedDestroys || m.UnreadOutputs || m.CreationsDontTrigger {
		t.Errorf("OpenTofu: %+v", m)
	}
	if m := engine.MeaningIn(dialect.Terraform); !m.RemovedDestroys || !m.UnreadOutputs || !m.CreationsDontTrigger {
		t.Errorf("Terraform: %+v", m)
	}
}
