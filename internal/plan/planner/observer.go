package planner

import (
	"slices"

	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/resource/checkresults"
)

// observe evaluates check blocks and other observers. They come last: what
// they look at is planned by then, and nothing depends on them. Those that look
// at something with a problem aren't evaluated.
func (r *run) observe() {
	if r.ctx.Err() != nil {
		return
	}
	for _, f := range r.root.Frames() {
		for _, o := range f.Program.Observers {
			r.rt.Go(func(t *promise.Task) {
				checks.Evaluate(t, f, o, func(outcomes []eval.Outcome) {
					subject := checkresults.Of(f, o)
					if slices.ContainsFunc(outcomes, eval.Outcome.Missing) {
						r.checks.Unevaluated(subject)
						return
					}
					r.checks.Add(subject, o.Outcomes(), outcomes)
				})
			})
		}
	}
}
