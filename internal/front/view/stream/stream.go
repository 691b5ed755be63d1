// Package stream shows what happens while it happens: as lines for people, or
// as JSON messages for programs, one a line.
//
// It owns both forms and the reminders that something still runs. It refuses
// to know why something happens, and it counts nothing but what it was told.
package stream

import (
	"sync"
	"time"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/word/addr"
)

// A Progress shows events. Event may be called from several goroutines at once
// and is an event.Sink; nothing is shown after Close.
type Progress interface {
	Event(event.Event)
	Close()
}

// remindEvery is how often a running operation is told of again.
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

// A Counter counts what was done to managed objects.
type Counter struct {
	mu     sync.Mutex
	counts plan.Counts
}

// Event counts the end of an operation.
func (c *Counter) Event(e event.Event) {
	switch e.Kind {
	case event.ImportComplete:
		c.mu.Lock()
		c.counts.Import++
		c.mu.Unlock()
	case event.Forgotten:
		c.mu.Lock()
		c.counts.Forget++
		c.mu.Unlock()
	case event.ActionComplete:
		c.mu.Lock()
		c.counts.Invoke++
		c.mu.Unlock()
	case event.ActionErrored:
		c.mu.Lock()
		c.counts.Fail++
		c.mu.Unlock()
	}
	if e.Kind != event.ApplyComplete || e.Addr.Name.Mode != addr.Managed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Action {
	case plan.Create:
		c.counts.Add++
	case plan.Update:
		c.counts.Change++
	case plan.Delete:
		c.counts.Destroy++
	case plan.DeleteThenCreate, plan.CreateThenDelete:
		c.counts.Add++
		c.counts.Destroy++
	case plan.Forget:
		c.counts.Forget++
	case plan.ForgetThenCreate:
		c.counts.Add++
		c.counts.Forget++
	}
}

// Close does nothing.
func (c *Counter) Close() {}

// Counts is what was counted so far.
func (c *Counter) Counts() plan.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// A running operation, and when it is told of next.
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
