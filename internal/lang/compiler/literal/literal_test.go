package literal

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/syntax"
)

// expression reads one from text.
func expression(t *testing.T, text string) hcl.Expression {
	t.Helper()
	e, diags := syntax.ParseExpression([]byte(text), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return e
}

func argument(t *testing.T, text string) *hcl.Attribute {
	if text == "" {
		return nil
	}
	return &hcl.Attribute{Name: "a", Expr: expression(t, text)}
}

// wantProblem checks that the one problem begins with a text, or that none exists.
func wantProblem(t *testing.T, diags diag.List, want string) {
	t.Helper()
	var got []string
	for _, d := range diags {
		got = append(got, d.Summary+": "+d.Detail)
	}
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

func TestConstants(t *testing.T) {
	for _, test := range []struct {
		text, want, problem string
	}{
		{"", `"" no`, ""},
		{`"x"`, `"x" no`, `Unsuitable value type: Unsuitable value for "a": a bool is required`},
		{`true`, `"true" yes`, ""},
		{`"true"`, `"true" yes`, ""},
		{`null`, `"" no`, `Unsuitable value type: Unsuitable value for "a": it is null, and a string is required.`},
		{`[]`, `"" no`, `Unsuitable value type: Unsuitable value for "a": string required`},
		{`var.a`, `"" no`, `Variables not allowed`},
	} {
		var texts, bools diag.List
		text := Reader{&texts}.String(argument(t, test.text))
		got := `"` + text + `" no`
		if (Reader{&bools}).Bool(argument(t, test.text), false) {
			got = `"` + text + `" yes`
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
		if len(texts) == 0 {
			texts = bools
		}
		wantProblem(t, texts, test.problem)
	}
	if !(Reader{new(diag.List)}).Bool(nil, true) {
		t.Error("what holds without the argument isn't given")
	}
}

func TestDeprecated(t *testing.T) {
	for text, want := range map[string][2]string{
		"":        {"", ""},
		`"use b"`: {"use b", ""},
		`""`:      {"", "Invalid `deprecated` value"},
		`var.a`:   {"", "Variables not allowed"},
	} {
		var diags diag.List
		if got := (Reader{&diags}).Deprecated(argument(t, text)); got != want[0] {
			t.Errorf("%s: %q", text, got)
		}
		wantProblem(t, diags, want[1])
	}
}

func TestKeyword(t *testing.T) {
	for text, want := range map[string][2]string{
		`destroy`:   {"destroy", ""},
		`"destroy"`: {"destroy", "Quoted keywords are deprecated"},
		`"1 + 1"`:   {"", ""},
		`"${x}"`:    {"", ""},
		`"a b"`:     {"", ""},
		`1`:         {"", ""},
	} {
		var diags diag.List
		if got := (Reader{&diags}).Keyword(argument(t, text)); got != want[0] {
			t.Errorf("%s: %q", text, got)
		}
		wantProblem(t, diags, want[1])
	}
}

func TestType(t *testing.T) {
	for text, want := range map[string]struct {
		t       cty.Type
		problem string
	}{
		`string`:                   {cty.String, ""},
		`list`:                     {cty.List(cty.DynamicPseudoType), ""},
		`map`:                      {cty.Map(cty.DynamicPseudoType), ""},
		`set(number)`:              {cty.Set(cty.Number), ""},
		`object({a = string})`:     {cty.Object(map[string]cty.Type{"a": cty.String}), ""},
		`"string"`:                 {cty.DynamicPseudoType, "Invalid quoted type constraints"},
		`text`:                     {cty.DynamicPseudoType, "Invalid type specification"},
		`list(string, string)`:     {cty.DynamicPseudoType, "Invalid type specification"},
		`object({a = optional()})`: {cty.DynamicPseudoType, "Invalid type specification"},
	} {
		var diags diag.List
		if got, _ := (Reader{&diags}).Type(expression(t, text)); !got.Equals(want.t) {
			t.Errorf("%s: %#v", text, got)
		}
		wantProblem(t, diags, want.problem)
	}
}

func TestDefault(t *testing.T) {
	for _, test := range []struct {
		typ, text string
		nullable  bool
		want      cty.Value
		problem   string
	}{
		{`string`, `1`, true, cty.StringVal("1"), ""},
		{`string`, `null`, true, cty.NullVal(cty.String), ""},
		{`string`, `null`, false, cty.NullVal(cty.String), "Invalid default value for variable: A null default"},
		{`list(number)`, `["a"]`, true, cty.UnknownVal(cty.List(cty.Number)), "Invalid default value for variable: This default value is not compatible with the variable's type constraint: [0]: a number is required"},
		{`map(object({n = number}))`, `{k = {n = "x"}}`, true, cty.UnknownVal(cty.Map(cty.Object(map[string]cty.Type{"n": cty.Number}))), `Invalid default value for variable: This default value is not compatible with the variable's type constraint: ["k"].n: a number is required`},
		{`object({a = optional(string, "x")})`, `{}`, true, cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x")}), ""},
		{`string`, `var.a`, true, cty.UnknownVal(cty.String), "Variables not allowed"},
	} {
		var diags diag.List
		r := Reader{&diags}
		typ, defaults := r.Type(expression(t, test.typ))
		if got := r.Default(argument(t, test.text), typ, defaults, test.nullable); !got.RawEquals(test.want) {
			t.Errorf("%s = %s: %#v", test.typ, test.text, got)
		}
		wantProblem(t, diags, test.problem)
	}
}

func TestDefaultSaysWhatIsLeftOut(t *testing.T) {
	var diags diag.List
	r := Reader{&diags}
	typ, defaults := r.Type(expression(t, `object({a = string})`))
	r.Default(argument(t, `{a = "x", b = 1}`), typ, defaults, true)
	if len(diags) != 1 || diags.HasErrors() {
		t.Errorf("got %v", diags)
	}
}

func TestConstraint(t *testing.T) {
	for text, want := range map[string][2]string{
		`"~> 1.2"`: {"~> 1.2", ""},
		`"x"`:      {"", `Invalid version constraint: "x" does not use`},
		`1`:        {"", "Invalid version constraint: A version constraint is a string"},
		`null`:     {"", "Invalid version constraint: A version constraint is a string"},
		`var.a`:    {"", "Variables not allowed"},
	} {
		var diags diag.List
		if got := (Reader{&diags}).Constraint(expression(t, text)); got != want[0] {
			t.Errorf("%s: %q", text, got)
		}
		wantProblem(t, diags, want[1])
	}
}
