package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
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
		outer.ValExpr = &stepExpr{around(inner)}
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
