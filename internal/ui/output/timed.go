package output

import (
	"context"
	"fmt"
	"time"

	"weir.dev/weir/internal/ui/timings"
)

// Timed has what is done with the context looked at where people ask for that. Anything that
// is returned then reports where the time went: beside all results, for people and for
// programs.
func (s *Screen) Timed(ctx context.Context) (context.Context, func()) {
	if !s.Timings {
		return ctx, func() {}
	}
	ctx, watch := timings.Begin(ctx, time.Now)
	return ctx, func() {
		report := watch.End()
		if s.Stream != nil {
			s.Stream.Info("Timings: "+report.Line(), "timings", map[string]any{"timings": report.JSON()})
		}
		if !s.JSON {
			fmt.Fprint(s.Err, report.Text(s.penFor(s.Err)))
		}
	}
}
