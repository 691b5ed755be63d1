package eval

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
)

// Both sides of a comparison are reported, unless one of them is secret
// or nothing has a value.
func TestCompared(t *testing.T) {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{
		"open":   cty.StringVal("a"),
		"secret": cty.StringVal("b").Mark(value.Sensitive),
		"brief":  cty.TupleVal([]cty.Value{cty.StringVal("b").Mark(value.Ephemeral)}),
	}}
	for source, told := range map[string]bool{
		`open == "x"`: true, `"x" == open`: true, `open != "x"`: false, `open`: false,
		`secret == "x"`: false, `"x" == secret`: false, `brief == ["x"]`: false,
	} {
		e, diags := hclsyntax.ParseExpression([]byte(source), "main.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := compared(e, ctx); (got != nil) != told {
			t.Errorf("%s: %v", source, got)
		}
		if got := Diagnostics(hcl.Diagnostics{{Severity: hcl.DiagError, Expression: e}}); len(got) != 1 || got[0].Compared != nil {
			t.Errorf("%s without values: %v", source, got)
		}
	}
}
