package program

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// MaxSteps bounds the rounds that a for expression makes, those of the ones
// within it included. A few seconds go by until then.
const MaxSteps = 1 << 20

// A LoopExpr is a for expression that ends with an error when it makes too
// many rounds.
type LoopExpr struct {
	*hclsyntax.ForExpr
}

// NewLoopExpr makes the node. The rounds of the expression are counted from then
// on.
func NewLoopExpr(e *hclsyntax.ForExpr) *LoopExpr {
	if e.CondExpr != nil {
		e.CondExpr = &stepExpr{around(e.CondExpr)}
	} else {
		e.ValExpr = &stepExpr{around(e.ValExpr)}
	}
	return &LoopExpr{e}
}

// A stepExpr is what each round evaluates.
type stepExpr struct {
	*hclsyntax.ParenthesesExpr
}

// UnwrapExpression gives the expression as it was written.
func (e *LoopExpr) UnwrapExpression() hcl.Expression { return e.ForExpr }

// UnwrapExpression gives the expression as it was written.
func (e *stepExpr) UnwrapExpression() hcl.Expression { return e.ParenthesesExpr.Expression }

// rounds counts those of the outermost for expression in progress.
type rounds struct{ made int }

var roundsType = cty.Capsule("rounds", reflect.TypeOf(rounds{}))

// roundsName can't be written in a configuration.
const roundsName = "\x00rounds"

func roundsOf(ctx *hcl.EvalContext) *rounds {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[roundsName]; ok {
			return v.EncapsulatedValue().(*rounds)
		}
	}
	return nil
}

// Value implements hcl.Expression. Only the outermost loop tells of too many
// rounds: within it the error would be repeated in each round that is left.
func (e *LoopExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if r := roundsOf(ctx); r != nil {
		if r.made > MaxSteps {
			return cty.DynamicVal, nil
		}
		return e.ForExpr.Value(ctx)
	}
	r := &rounds{}
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{roundsName: cty.CapsuleVal(roundsType, r)}
	v, diags := e.ForExpr.Value(child)
	if r.made <= MaxSteps {
		return v, diags
	}
	return cty.DynamicVal, hcl.Diagnostics{{
		Severity: hcl.DiagError,
		Summary:  "Evaluation takes too long",
		Detail:   fmt.Sprintf("This for expression makes more than %d rounds, counting those of the for expressions within it. Go over fewer elements, or prepare the result outside of the configuration.", MaxSteps),
		Subject:  e.SrcRange.Ptr(),
	}}
}

// Value implements hcl.Expression.
func (e *stepExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if r := roundsOf(ctx); r != nil {
		if r.made++; r.made > MaxSteps {
			return cty.DynamicVal, nil
		}
	}
	return e.Expression.Value(ctx)
}
