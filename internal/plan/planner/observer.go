package planner

import (
	"slices"

	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/resource/checkresults"
)

// observe evaluates check blocks and other observers. They come last, because they may read any
// planned value and nothing depends on them. An observer whose references have a problem isn't
// evaluated: its own failure would hide the cause.
func (r *run) observe() {
	if r.calls.ctx.Err() != nil {
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
