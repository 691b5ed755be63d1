package program

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/value"
)

// MaxSteps bounds the rounds that a for expression makes, those of the ones
// within it included. A few seconds go by until this default. It is set before
// anything is evaluated.
var MaxSteps = 1 << 20

// A LoopExpr is a for expression that ends with an error when it makes too many rounds,
// or when what they make is too large together.
type LoopExpr struct {
	*hclsyntax.ForExpr
}

// NewLoopExpr makes the node. The rounds of the expression, and what they make, are
// counted from then on.
func NewLoopExpr(e *hclsyntax.ForExpr) *LoopExpr {
	if e.CondExpr != nil {
		e.CondExpr = &stepExpr{around(e.CondExpr)}
	}
	e.ValExpr = &resultExpr{around(e.ValExpr), e.CondExpr == nil}
	return &LoopExpr{e}
}

// A stepExpr is what each round evaluates.
type stepExpr struct {
	*hclsyntax.ParenthesesExpr
}

// A resultExpr is what a round makes. Steps says that each round evaluates it.
type resultExpr struct {
	*hclsyntax.ParenthesesExpr
	steps bool
}

// UnwrapExpression gives the expression as it was written.
func (e *LoopExpr) UnwrapExpression() hcl.Expression { return e.ForExpr }

// UnwrapExpression gives the expression as it was written.
func (e *stepExpr) UnwrapExpression() hcl.Expression { return e.ParenthesesExpr.Expression }

// UnwrapExpression gives the expression as it was written.
func (e *resultExpr) UnwrapExpression() hcl.Expression { return e.ParenthesesExpr.Expression }

// rounds are those of a for expression in progress.
type rounds struct {
	bytes int // that its results take so far
	all   *effort
}

// An effort is that of the outermost for expression in progress with those within it.
type effort struct {
	made  int  // rounds
	large bool // the results of one of them are too large together
}

// over says that there is no use in going on.
func (e *effort) over() bool { return e.made > MaxSteps || e.large }

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

// Value implements hcl.Expression. Only the outermost loop tells that there is too much:
// within it the error would be repeated in each round that is left.
func (e *LoopExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	outer := roundsOf(ctx)
	r := &rounds{all: &effort{}}
	if outer != nil {
		if r.all = outer.all; r.all.over() {
			return cty.DynamicVal, nil
		}
	}
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{roundsName: cty.CapsuleVal(roundsType, r)}
	v, diags := e.ForExpr.Value(child)
	if outer != nil {
		return v, diags
	}
	var d diag.Diagnostic
	switch {
	case r.all.made > MaxSteps:
		d = diag.TooLarge.As("Evaluation takes too long").Error(e.SrcRange, "This for expression makes more than %d rounds, counting those of the for expressions within it. Go over fewer elements, prepare the result outside of the configuration, or set WEIR_MAX_ROUNDS to a higher number.", MaxSteps)
	case r.all.large:
		d = diag.TooLarge.Error(e.SrcRange, "What the rounds of this for expression, or of one within it, make takes more than %d MiB. WEIR_MAX_VALUE can be set to a higher number of MiB.", value.MaxSize>>20)
	default:
		return v, diags
	}
	return cty.DynamicVal, diag.List{d}.ToHCL()
}

// Value implements hcl.Expression.
func (e *stepExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if r := roundsOf(ctx); r != nil {
		if r.all.made++; r.all.over() {
			return cty.DynamicVal, nil
		}
	}
	return e.Expression.Value(ctx)
}

// Value implements hcl.Expression.
func (e *resultExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	r := roundsOf(ctx)
	if r == nil {
		return e.Expression.Value(ctx)
	}
	if e.steps {
		r.all.made++
	}
	if r.all.over() {
		return cty.DynamicVal, nil
	}
	v, diags := e.Expression.Value(ctx)
	if r.bytes += value.Size(v, value.MaxSize); r.bytes > value.MaxSize {
		r.all.large = true
	}
	return v, diags
}
