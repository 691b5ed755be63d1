package planner

import (
	"slices"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/object/checks"
	"weir.dev/weir/internal/word/promise"
)

// runChecks evaluates the assertions of check blocks. They come last: what
// they look at is planned by then, and nothing depends on them. Those that look
// at something with a problem aren't evaluated.
func (r *run) runChecks() {
	if r.ctx.Err() != nil {
		return
	}
	for _, f := range r.root.Frames() {
		for _, c := range f.Program.Checks {
			r.rt.Go(func(t *promise.Task) {
				r.note(f.EvaluateCheck(t, c, func(outcomes []eval.Outcome) {
					subject := checks.In(f, "check", "check."+c.Name)
					if slices.ContainsFunc(outcomes, eval.Outcome.Missing) {
						r.checks.Unevaluated(subject)
						return
					}
					r.checks.Add(subject, len(c.Asserts), outcomes)
				}))
			})
		}
	}
}
