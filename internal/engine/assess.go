package engine

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// Assess evaluates conditions from outside in a root module that was planned.
// Beside what they were compiled for they may refer to the given objects.
func Assess(root *eval.Frame, list []*program.Condition, given map[string]cty.Value) []eval.Outcome {
	outcomes := make([]eval.Outcome, len(list))
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		for i, c := range list {
			t.Try(func(t *promise.Task) { outcomes[i] = assess(t, root, c, given) })
		}
	})
	return outcomes
}

func assess(t *promise.Task, root *eval.Frame, c *program.Condition, given map[string]cty.Value) eval.Outcome {
	ctx := root.Context(t, nil, cty.NilVal).NewChild()
	ctx.Variables = given
	o := eval.CheckCondition(t, c, ctx)
	if o.Status == eval.Failed && !o.Diags.HasErrors() {
		o.Diags.Add(diag.BadCondition.As("Condition can't be evaluated").Error(c.Condition.Range(), "The condition refers to something that has failed itself, or that the run has left out."))
	}
	return o
}

// Assess evaluates conditions from outside against the console's state. The
// problems are those of what the conditions refer to.
func (k *Console) Assess(list []*program.Condition, given map[string]cty.Value) ([]eval.Outcome, diag.List) {
	outcomes := Assess(k.root, list, given)
	var diags diag.List
	for _, d := range k.root.Diagnostics() {
		if d.Severity == diag.Error {
			diags.Add(d)
		}
	}
	return outcomes, diags
}
