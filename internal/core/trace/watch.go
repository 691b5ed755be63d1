package trace

import "context"

// Watch also informs r of spans that begin below ctx from now on, beside other watchers.
// Where nobody does the times and names are r's own, and below nothing. The first span of a
// run is the business of who began it.
func (r *Run) Watch(ctx context.Context) context.Context {
	above := of(ctx)
	if above == nil {
		ctx, _ = r.Begin(ctx, SpanID{}, "")
		return ctx
	}
	also, first := *above, above.run
	also.run = &Run{Now: first.Now, NewID: first.NewID, Ended: func(s *Span) {
		first.Ended(s)
		r.Ended(s)
	}}
	return context.WithValue(ctx, spanKey{}, &also)
}

// Join has what begins below ctx be below the span of another context, which may end
// before.
func Join(ctx, other context.Context) context.Context {
	if s := of(other); s != nil {
		return context.WithValue(ctx, spanKey{}, s)
	}
	return ctx
}
