package instance

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// PreventDestroySummary is the summary of problems with values of
// prevent_destroy.
const PreventDestroySummary = "Invalid value for prevent_destroy"

// PreventDestroy evaluates the argument of that name, which is the same for all
// instances of a resource. The result is a boolean without marks, perhaps unknown
// or null, and NilVal without the argument or after a problem.
func PreventDestroy(t *promise.Task, r *program.Resource, f *eval.Frame) (cty.Value, diag.List) {
	expr := r.PreventDestroy
	if expr == nil {
		return cty.NilVal, nil
	}
	v, diags := eval.Evaluate(t, expr, f.Context(t, nil, cty.NilVal))
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	v, marks := v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		diags.Add(diag.Unsuitable.As(PreventDestroySummary).Error(expr.Range(), "The prevent_destroy argument of %s has to be true or false: %s.", r.Name, value.ErrorString("", err)))
	case marks.Has(value.Sensitive):
		diags.Add(diag.Unsuitable.As(PreventDestroySummary).Error(expr.Range(), "The prevent_destroy argument of %s is sensitive, and whether the object can be destroyed would show what it is. Use nonsensitive if it may be shown.", r.Name))
	case marks.Has(value.Ephemeral):
		diags.Add(diag.Unsuitable.As(PreventDestroySummary).Error(expr.Range(), "The prevent_destroy argument of %s is ephemeral, and what may be destroyed can't differ between plan and apply.", r.Name))
	}
	if diags.HasErrors() {
		t.Fail()
		for i := range diags {
			diags[i].Values = eval.Values(expr, f.Context(t, nil, cty.NilVal))
		}
		return cty.NilVal, diags
	}
	return b, diags
}
