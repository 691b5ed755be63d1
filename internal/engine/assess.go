package engine

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// An Assessed is what a condition came to, with problems of the condition itself.
type Assessed struct {
	eval.Outcome
	Diags diag.List
}

// Assess evaluates conditions from outside in a root module that was planned.
// Beside what they were compiled for they may refer to the given objects.
func Assess(root *eval.Frame, list []*program.Condition, given map[string]cty.Value) []Assessed {
	all := make([]Assessed, len(list))
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		for i, c := range list {
			a := &all[i]
			a.Diags, _ = t.Try(func(t *promise.Task) { a.Outcome = assess(t, root, c, given) })
		}
	})
	return all
}

func assess(t *promise.Task, root *eval.Frame, c *program.Condition, given map[string]cty.Value) eval.Outcome {
	ctx := root.Context(t, nil, cty.NilVal).NewChild()
	ctx.Variables = given
	o := eval.CheckCondition(t, c, ctx)
	if o.Missing() {
		t.Report(diag.BadCondition.As("Condition can't be evaluated").Error(c.Condition.Range(), "The condition refers to something that has failed itself, or that the run has left out."))
	}
	return o
}

// Assess evaluates conditions from outside against the console's state. The
// problems are those of what the conditions refer to.
func (k *Console) Assess(list []*program.Condition, given map[string]cty.Value) ([]Assessed, diag.List) {
	assessed := Assess(k.root, list, given)
	var diags diag.List
	for _, d := range k.root.Diagnostics() {
		if d.Severity == diag.Error {
			diags.Add(d)
		}
	}
	return assessed, diags
}
