package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"weir.dev/weir/internal/core/value"
)

// TestRounds: for expressions within each other that make too many rounds end
// with one error.
func TestRounds(t *testing.T) {
	loop := func(variable, result string) *LoopExpr {
		e, diags := hclsyntax.ParseExpression(fmt.Appendf(nil, "[for %s in list: %s]", variable, result), "x.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return NewLoopExpr(e.(*hclsyntax.ForExpr))
	}
	within := func(outer, inner *LoopExpr) *LoopExpr {
		outer.ValExpr = &resultExpr{around(inner), true}
		return outer
	}
	list := func(n int) *hcl.EvalContext {
		elements := make([]cty.Value, n)
		for i := range elements {
			elements[i] = cty.True
		}
		return &hcl.EvalContext{Variables: map[string]cty.Value{"list": cty.TupleVal(elements)}}
	}
	v, diags := within(loop("a", "0"), loop("b", "b")).Value(list(100))
	if diags.HasErrors() || v.LengthInt() != 100 || !v.Index(cty.Zero).Index(cty.Zero).True() {
		t.Errorf("%#v %v", v, diags)
	}
	_, diags = within(loop("a", "0"), within(loop("b", "0"), loop("c", "c"))).Value(list(110))
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "more than 1048576 rounds") {
		t.Errorf("%v", diags)
	}
}

// TestLarge: what the rounds make is bounded together, also within another loop, before
// it is made.
func TestLarge(t *testing.T) {
	defer func(size int) { value.MaxSize = size }(value.MaxSize)
	value.MaxSize = 1 << 20
	made := 0
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{"list": cty.TupleVal(make([]cty.Value, 0))},
		Functions: map[string]function.Function{"block": function.New(&function.Spec{
			Type: function.StaticReturnType(cty.String),
			Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
				made++
				return cty.StringVal(strings.Repeat("x", 1<<17)), nil
			},
		})},
	}
	many := make([]cty.Value, 100)
	for i := range many {
		many[i] = cty.True
	}
	ctx.Variables["list"] = cty.TupleVal(many)
	for text, want := range map[string]int{
		"[for a in list : block()]":                                  8,
		"{for i, a in list : \"k${i}\" => block()}":                  8,
		"[for a in list : block() if a]":                             8,
		"[for a in [1, 2, 3] : length([for b in [1, 2] : block()])]": 6,
	} {
		made = 0
		e, diags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		ctx.Functions["length"] = stdlib.LengthFunc
		_, diags = NewLoopExpr(e.(*hclsyntax.ForExpr)).Value(ctx)
		if made != want || diags.HasErrors() != (want == 8) || want == 8 && diags[0].Summary != "Value too large" {
			t.Errorf("%s: made %d: %v", text, made, diags)
		}
	}
}

// TestNumberKeys: keys that are numbers are written as the library writes them.
func TestNumberKeys(t *testing.T) {
	for _, text := range []string{"0", "-1", "12345678901234567890123", "1.5", "-0", "1e30", "0.1", "9223372036854775807", "9223372036854775808", "true", "\"x\""} {
		e, diags := hclsyntax.ParseExpression([]byte("{for a in [1] : "+text+" => a}"), "x.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		want, _ := e.Value(nil)
		got, diags := NewLoopExpr(e.(*hclsyntax.ForExpr)).Value(&hcl.EvalContext{})
		if diags.HasErrors() || !got.RawEquals(want) {
			t.Errorf("%s: %#v, want %#v", text, got, want)
		}
	}
}
