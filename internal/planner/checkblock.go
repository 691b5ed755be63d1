package planner

import (
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/promise"
)

// runChecks evaluates the assertions of check blocks. They come last: what
// they look at is planned by then, and nothing depends on them.
func (r *run) runChecks() {
	if r.root.Diagnostics().HasErrors() {
		return
	}
	for _, f := range r.root.Frames() {
		for _, c := range f.Program.Checks {
			r.rt.Go(func(t *promise.Task) {
				r.note(f.EvaluateCheck(t, c, func(outcomes []eval.Outcome) {
					name := "check." + c.Name
					r.checks.Add("check", f.Erased(name), f.Label(name), outcomes)
				}))
			})
		}
	}
}
