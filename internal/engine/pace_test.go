package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/testing/testkit"
)

// A cloud takes its time for some calls, in the time of the bubble, and rejects those beyond a
// number a second.
type cloud struct {
	call      string // the method that takes time
	latency   time.Duration
	perSecond float64

	mu            sync.Mutex
	running, most int
	tokens        float64
	at            time.Time
}

func (c *cloud) before(_ context.Context, call, _ string, _ cty.Value) error {
	if call != c.call {
		return nil
	}
	c.mu.Lock()
	if now := time.Now(); c.perSecond > 0 {
		if !c.at.IsZero() {
			c.tokens = min(5, c.tokens+now.Sub(c.at).Seconds()*c.perSecond)
		}
		if c.at = now; c.tokens < 1 {
			c.mu.Unlock()
			return errors.New("ThrottlingException: Rate exceeded")
		}
		c.tokens--
	}
	c.running++
	c.most = max(c.most, c.running)
	c.mu.Unlock()
	time.Sleep(c.latency)
	c.mu.Lock()
	c.running--
	c.mu.Unlock()
	return nil
}

const manyObjects = `
resource "sim_object" "a" {
  count = 2000
  name  = "n${count.index}"
}
`

// refresh plans with calls of a cloud, and returns how long that takes.
func refresh(t *testing.T, b *testkit.Bench, c *cloud, text string, parallelism int, l *ratelimit.Limiter, sink event.Sink) (time.Duration, diag.List) {
	t.Helper()
	b.Before = c.before
	config, diags := b.Load(text)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	config.World.Parallelism, config.World.Calls, config.World.Sink = parallelism, l, sink
	began := time.Now()
	p, diags := engine.Plan(t.Context(), config, b.State, engine.PlanOptions{})
	b.Before = nil
	if !diags.HasErrors() && testkit.Changes(p) != "" {
		t.Errorf("the plan has changes:\n%.300s", testkit.Changes(p))
	}
	return time.Since(began), diags
}

// TestRefreshFollowsTheService: a refresh of many objects takes a seventh of the time that it
// takes with ten calls at once, where the service allows that; and with a limit that the
// service holds calls to nothing fails, and nine tenths of the limit are used.
func TestRefreshFollowsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testkit.New(t)
		if diags := b.Apply(manyObjects, engine.PlanOptions{}); diags.HasErrors() {
			t.Fatal(diags)
		}
		ten, many := &cloud{call: "Read", latency: 100 * time.Millisecond}, &cloud{call: "Read", latency: 100 * time.Millisecond}
		before, diags := refresh(t, b, ten, manyObjects, 10, nil, nil)
		took, more := refresh(t, b, many, manyObjects, 0, nil, nil)
		ratio := took.Seconds() / before.Seconds()
		t.Logf("%s with ten at once, %s without a number: %.3f, %d at once", before, took, ratio, many.most)
		if diags.Append(more); diags.HasErrors() || ten.most != 10 || many.most != 100 || ratio > 0.15 {
			t.Errorf("%d at once take %s, %d take %s: %.3f\n%s", ten.most, before, many.most, took, ratio, diags)
		}

		for _, parallelism := range []int{0, 60} {
			told := 0
			limited := &cloud{call: "Read", latency: 100 * time.Millisecond, perSecond: 50}
			counts := metrics.Count(func() {
				took, diags = refresh(t, b, limited, manyObjects, parallelism, nil, func(e event.Event) {
					if e.Kind == event.Slowed {
						told++
					}
				})
			})
			used := 2000 / took.Seconds() / 50
			t.Logf("%s with a limit of 50 a second, -parallelism=%d: %.2f of it is used, %d calls are refused", took, parallelism, used, counts["refused"])
			if diags.HasErrors() || used < 0.9 || counts["refused"] > 100 || told != 1 {
				t.Errorf("%s, %.2f of the limit, %d refused, told %d times\n%.300s", took, used, counts["refused"], told, diags)
			}
		}
	})
}

// TestChangesArentRepeated: changes are ten at a time as before, and one that the service
// rejects is an error.
func TestChangesArentRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testkit.New(t)
		c := &cloud{call: "Apply", latency: 100 * time.Millisecond}
		b.Before = c.before
		text := strings.Replace(manyObjects, "2000", "200", 1)
		config, p, diags := b.Plan(text, engine.PlanOptions{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		config.World.Parallelism = 0
		b.State, diags = engine.Apply(t.Context(), config, p, engine.ApplyOptions{})
		if diags.HasErrors() || c.most != 10 {
			t.Errorf("%d changes at once\n%s", c.most, diags)
		}
		c.perSecond = 1
		b.Reset()
		b.Before = c.before
		text = strings.Replace(manyObjects, "2000", "201", 1)
		diags = b.Apply(text, engine.PlanOptions{})
		if got := b.Count("Apply"); got != 1 || !diags.HasErrors() {
			t.Errorf("a change was asked for %d times: %s", got, diags)
		}
	})
}
