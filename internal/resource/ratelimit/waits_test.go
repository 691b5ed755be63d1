package ratelimit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/resource/ratelimit"
)

// TestWaitsAreSeen: a call that has to wait for its turn, or to ask again, has a span for
// that, and one that needn't has none.
func TestWaitsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		run := &trace.Run{Now: time.Now, NewID: func() trace.SpanID { return trace.SpanID{1} }, Ended: func(s *trace.Span) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(s.Kind, " ", s.Name, " ", s.Stop.Sub(s.Start), " ", s.Facts))
		}}
		ctx := run.Watch(context.Background())
		l := ratelimit.New(ratelimit.Settings{AtOnce: 1})
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				l.Do(ctx, ratelimit.Read, about("net_port"), func() ratelimit.Answer { time.Sleep(time.Second); return ratelimit.Answer{} }, nil)
			})
		}
		calls.Wait()
		refused := true
		l.Do(ctx, ratelimit.Read, about("net_port"), func() ratelimit.Answer {
			defer func() { refused = false }()
			return ratelimit.Answer{Refused: refused}
		}, nil)
		slices.Sort(seen)
		facts := fmt.Sprintf("[{weir.provider %s} {weir.type net_port}]", about("net_port").Provider.Type)
		want := "wait wait for a turn 1s " + facts + "\nwait wait to ask again 500ms " + facts
		if got := strings.Join(seen, "\n"); got != want {
			t.Errorf("seen:\n%s\nand not\n%s", got, want)
		}
	})
}

// TestBudgetsAreTold: who waits for a budget for long is notified, once for each budget.
func TestBudgetsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Settings{Budgets: map[ratelimit.Of]ratelimit.Budget{
			{Provider: sim}:            {PerSecond: 0.5},
			{Provider: sim, Type: "b"}: {AtOnce: 1},
		}})
		var mu sync.Mutex
		var told []string
		ask := func(k ratelimit.Kind, typ string, n int) {
			var calls sync.WaitGroup
			for range n {
				calls.Go(func() {
					l.Do(context.Background(), k, about(typ), func() ratelimit.Answer { time.Sleep(time.Minute); return ratelimit.Answer{} }, func(s ratelimit.Slowed) {
						mu.Lock()
						defer mu.Unlock()
						told = append(told, fmt.Sprint(s.Type, " ", s.Budget, " ", s.PerSecond, " ", s.AtOnce))
					})
				})
			}
			calls.Wait()
		}
		ask(ratelimit.Read, "a", 2) // nobody waits long
		ask(ratelimit.Plan, "b", 20)
		if len(told) > 0 {
			t.Errorf("told: %q", told)
		}
		ask(ratelimit.Read, "a", 6)
		ask(ratelimit.Once, "b", 2)
		ask(ratelimit.Read, "b", 2)
		if got, want := strings.Join(told, ", "), " true 0.5 0, b true 0 1"; got != want {
			t.Errorf("told: %s, and not %s", got, want)
		}
	})
}
