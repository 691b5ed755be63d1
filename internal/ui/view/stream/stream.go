// Package stream prints events as they happen: as lines for people, or as JSON messages for
// programs, one per line.
//
// It owns both forms and the reminders that something still runs. It doesn't know why
// something happens, and it counts nothing but what it was reported.
package stream

import (
	"maps"
	"sync"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
)

// A Progress shows events. Event may be called from several goroutines at once
// and is an event.Sink; nothing is shown after Close.
type Progress interface {
	Event(event.Event)
	Close()
}

// remindEvery is how often a running operation is notified of again.
const remindEvery = 10 * time.Second

// Multi shows events in several ways.
func Multi(all ...Progress) Progress { return multi(all) }

type multi []Progress

func (m multi) Event(e event.Event) {
	for _, p := range m {
		p.Event(e)
	}
}

func (m multi) Close() {
	for _, p := range m {
		p.Close()
	}
}

// A Counter counts what was done to managed objects, and notes what became of the steps
// of an apply.
type Counter struct {
	mu      sync.Mutex
	counts  plan.Counts
	endings map[execgraph.ID]event.Ending
	// components are the counts of single component instances of a stack.
	components map[addr.Module]plan.Counts
}

// Endings are what became of the steps of the last apply that have ended.
func (c *Counter) Endings() map[execgraph.ID]event.Ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.endings)
}

// Event counts the end of an operation.
func (c *Counter) Event(e event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind {
	case event.ApplyBegin:
		c.endings = make(map[execgraph.ID]event.Ending, len(e.Plan.Graph.Steps))
	case event.StepEnd:
		c.endings[e.Step] = e.Ending
	}
	if !count(&c.counts, e) {
		return
	}
	if _, at, ok := e.Addr.Module.Component(); ok {
		n := c.components[at]
		count(&n, e)
		if c.components == nil {
			c.components = map[addr.Module]plan.Counts{}
		}
		c.components[at] = n
	}
}

// count reports whether an event is one that counts.
func count(n *plan.Counts, e event.Event) bool {
	switch e.Kind {
	case event.ImportComplete:
		n.Import++
	case event.Forgotten:
		n.Forget++
	case event.ActionComplete:
		n.Invoke++
	case event.ActionErrored:
		n.Fail++
	case event.ApplyComplete:
		if e.Addr.Name.Mode != addr.Managed {
			return false
		}
		n.Count(e.Action)
	default:
		return false
	}
	return true
}

// Components is what was counted of each component instance.
func (c *Counter) Components() map[addr.Module]plan.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.components)
}

// Close does nothing.
func (c *Counter) Close() {}

// Counts is what was counted so far.
func (c *Counter) Counts() plan.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// A running operation, and when it is notified of next.
type running struct {
	event event.Event
	start time.Time
	next  time.Time
}

// A tracker knows what runs. Its lock also keeps lines whole and in order.
type tracker struct {
	mu     sync.Mutex
	now    func() time.Time
	ops    map[string]*running
	closed bool
	stop   chan struct{}
	done   chan struct{}
	// also is called each second with the lock held, nil for nothing.
	also func(now time.Time)
}

// track begins to remind of what runs; remind is called with the lock held.
func track(now func() time.Time, remind func(e event.Event, elapsed time.Duration)) *tracker {
	if now == nil {
		now = time.Now
	}
	t := &tracker{now: now, ops: map[string]*running{}, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-t.stop:
				return
			case <-ticker.C:
				t.tick(remind)
			}
		}
	}()
	return t
}

func (t *tracker) tick(remind func(event.Event, time.Duration)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, key := range sortedKeys(t.ops) {
		if r := t.ops[key]; !now.Before(r.next) {
			r.next = r.next.Add(remindEvery)
			remind(r.event, now.Sub(r.start).Truncate(time.Second))
		}
	}
	if t.also != nil {
		t.also(now)
	}
}

func key(e event.Event) string {
	if e.Kind == event.EphemeralStart || e.Kind == event.EphemeralComplete {
		return "ephemeral " + e.Addr.String()
	}
	return e.Addr.String()
}

// begin notes that an operation runs.
func (t *tracker) begin(e event.Event) {
	now := t.now()
	t.ops[key(e)] = &running{e, now, now.Add(remindEvery)}
}

// end forgets an operation and returns how it began and what it took.
func (t *tracker) end(e event.Event) (event.Event, time.Duration) {
	r := t.ops[key(e)]
	if r == nil {
		return e, 0
	}
	delete(t.ops, key(e))
	return r.event, t.now().Sub(r.start).Round(time.Second)
}

func (t *tracker) close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.closed = true
	t.mu.Unlock()
	close(t.stop)
	<-t.done
}
