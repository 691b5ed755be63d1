// Package checks evaluates check blocks and other observers. They read the results of other
// declarations, run last, and nothing depends on them.
//
// It owns what each kind of them results in. It doesn't decide when that is requested and what
// is kept of it.
package checks

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// kind evaluates an observer of each kind.
func kind(t *promise.Task, f *eval.Frame, o program.Observer) []eval.Outcome {
	switch o := o.(type) {
	case *program.Check:
		return check(t, f, o)
	}
	panic("observe: an observer of no kind")
}

// Pending says that an observer of whatever kind can't be evaluated yet.
var Pending = diag.Code{Name: "check-pending", Summary: "Check block assertion known after apply"}

// Evaluate evaluates an observer, once. Anything that doesn't hold is a warning: an observer
// never stops anything. Where its data source couldn't be read, nothing is evaluated and done
// gets no outcomes.
func Evaluate(t *promise.Task, f *eval.Frame, o program.Observer, done func([]eval.Outcome)) {
	var found diag.List
	f.Observe(t, o, func(t *promise.Task, readable bool) {
		var outcomes []eval.Outcome
		if readable {
			found = t.Collect(func() { outcomes = kind(t, f, o) })
		}
		done(outcomes)
	})
	for _, d := range found {
		d.Severity = diag.Warning
		t.Report(d)
	}
}

// asserts evaluates conditions of an observer, each to one outcome. One that doesn't
// hold is a problem of that kind, one that isn't known yet has the phrase pending.
func asserts(t *promise.Task, f *eval.Frame, o program.Observer, list []*program.Condition, failed diag.Code, pending string) (outcomes []eval.Outcome) {
	ctx := f.Context(t, nil, cty.NilVal)
	for _, a := range list {
		outcome := eval.CheckCondition(t, a, ctx)
		outcomes = append(outcomes, outcome)
		var problem diag.Diagnostic
		switch outcome.Status {
		case eval.Fail:
			problem = outcome.Problem(failed, a)
		case eval.Unknown:
			problem = outcome.Problem(Pending.As(pending), a)
			problem.Detail = "The condition could not be evaluated at this time, a result will be known when this plan is applied."
		default:
			continue
		}
		problem.Unmet = f.Checkable(string(o.Head().Kind), o.Head().Name)
		t.Report(problem)
	}
	return outcomes
}
