package instance

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// PreventDestroy evaluates the argument of that name, which is the same for all
// instances of a resource. The result is NilVal without the argument.
func PreventDestroy(t *promise.Task, r *program.Resource, f *eval.Frame) (cty.Value, bool) {
	if r.PreventDestroy == nil {
		return cty.NilVal, true // without the cost of a context
	}
	return Decision(t, r.Name, "prevent_destroy", r.PreventDestroy, f.Context(t, nil, cty.NilVal))
}

// UnsuitableDecision is the code of problems with values of a lifecycle argument.
func UnsuitableDecision(argument string) diag.Code {
	return diag.Unsuitable.As("Invalid value for " + argument)
}

// Decision evaluates a lifecycle argument that is true or false. The result is a boolean without
// marks, perhaps unknown or null. A marked value is an error: the plan would show what a
// sensitive one is, and an ephemeral one can differ between plan and apply.
func Decision(t *promise.Task, of addr.Name, argument string, expr *program.Expr, ctx *hcl.EvalContext) (cty.Value, bool) {
	v, ok := eval.Evaluate(t, expr, ctx)
	if !ok {
		return cty.NilVal, false
	}
	wrong := func(format string, args ...any) (cty.Value, bool) {
		d := UnsuitableDecision(argument).Error(expr.Range(), format, args...)
		d.Values = eval.Values(expr, ctx)
		return cty.NilVal, t.Report(d)
	}
	v, marks := v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return wrong("The %s argument of %s has to be true or false: %s.", argument, of, value.ErrorString("", err))
	case marks.Has(value.Sensitive):
		return wrong("The %s argument of %s is sensitive, and the plan would show its value. Use nonsensitive if it may be shown.", argument, of)
	case marks.Has(value.Ephemeral):
		return wrong("The %s argument of %s is ephemeral, and what it allows can't differ between plan and apply.", argument, of)
	}
	return b, true
}
