package engine

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
)

// Assess evaluates conditions from outside in a root module that was planned.
// Beside what they were compiled for they may refer to the given objects.
func Assess(root *eval.Frame, list []*program.Condition, given map[string]cty.Value) []eval.Outcome {
	outcomes := make([]eval.Outcome, len(list))
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		ctx := root.Context(t, nil, cty.NilVal).NewChild()
		ctx.Variables = given
		for i, c := range list {
			outcomes[i] = eval.CheckCondition(t, c, ctx)
		}
	})
	return outcomes
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
