package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/journal"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// A recorder keeps what an apply does while it runs: at once in the journal,
// and in the stored state as often as that costs little, for the sake of
// other programs that read it.
type recorder struct {
	ctx context.Context
	s   *session
	w   *journal.Writer
	// every is the least time between two saves, for backends where each costs
	// something; when 0 it follows from how long they take.
	every time.Duration

	mu      sync.Mutex
	state   *state.Snapshot
	doubts  map[addr.Object]journal.Operation // creates without an answer
	intents map[addr.Object]journal.Operation
	dirty   bool
	saver   chan struct{} // closed when nobody saves any more; nil when nobody does
	stop    chan struct{}
	hurry   <-chan struct{} // closed by an interrupt: who knows what comes next
	hurried bool
	written int64 // bytes of states
}

// How much saving in between may cost. An object's share doesn't grow with the
// number of objects: after the first bytes, states are written only when the
// journal, which grows by a constant with each object, has grown by as much.
const (
	freeBytes  = 8 << 20
	shortWait  = 20 * time.Millisecond
	waitFactor = 1 // of the time that the last save took
	// leastInterval is the least that TF_STATE_PERSIST_INTERVAL can ask for.
	leastInterval = 20 * time.Second
)

// record opens the journal and starts from the state that apply starts from.
func (s *session) record(ctx context.Context, p *plan.Plan, interrupted <-chan struct{}) (*recorder, error) {
	start := p.Refreshed
	if start == nil {
		start = state.Empty()
	}
	r := &recorder{
		ctx: ctx, s: s, state: start.Clone(), stop: make(chan struct{}), hurry: interrupted,
		doubts: map[addr.Object]journal.Operation{}, intents: map[addr.Object]journal.Operation{},
	}
	for _, o := range s.doubts {
		r.doubts[o.Object] = o
	}
	if n, err := strconv.Atoi(s.e.vars["TF_STATE_PERSIST_INTERVAL"]); err == nil && n > 0 {
		r.every = max(time.Duration(n)*time.Second, leastInterval)
	}
	var err error
	// What refreshing and moving have changed belongs to the start.
	if r.w, err = journal.Start(s.journalPath(), s.journalBegin(), s.doubts, changes(s.base, start)); err != nil {
		return nil, err
	}
	s.journal = r.w
	go r.saveWhenInterrupted()
	return r, nil
}

// changes are the objects of next that base doesn't have, and nil for those
// that only base has.
func changes(base, next *state.Snapshot) map[addr.Object]*state.Object {
	out := map[addr.Object]*state.Object{}
	var before map[addr.Object]*state.Object
	if base != nil {
		before = base.Objects
	}
	for at, o := range next.Objects {
		if before[at] != o && at.Name.Mode == addr.Managed {
			out[at] = o
		}
	}
	for at := range before {
		if next.Objects[at] == nil && at.Name.Mode == addr.Managed {
			out[at] = nil
		}
	}
	return out
}

// Intent implements apply.Journal.
func (r *recorder) Intent(i apply.Intent) error {
	o := journal.Operation{Object: i.Object, Action: i.Action.String(), Provider: i.Provider, Key: i.Key, ID: i.ID}
	r.mu.Lock()
	r.intents[o.Object] = o
	r.mu.Unlock()
	return r.w.Intent(o)
}

// Result implements apply.Journal.
func (r *recorder) Result(at addr.Object, stored *state.Object) error {
	err := r.w.Result(at, stored)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.intents, at)
	delete(r.doubts, at)
	if stored == nil {
		delete(r.state.Objects, at)
	} else {
		r.state.Objects[at] = stored
	}
	r.dirty = true
	r.wake()
	return err
}

// wake has what is new saved before long. r.mu is held.
func (r *recorder) wake() {
	if r.saver == nil {
		r.saver = make(chan struct{})
		go r.keepSaving(r.saver)
	}
}

// saveWhenInterrupted saves at once what is known when the run is interrupted,
// whatever that costs: the next signal may be the last.
func (r *recorder) saveWhenInterrupted() {
	select {
	case <-r.hurry:
		r.mu.Lock()
		r.hurried = true
		r.wake()
		r.mu.Unlock()
	case <-r.stop:
	}
}

// Unsure implements apply.Journal.
func (r *recorder) Unsure(at addr.Object) error {
	r.mu.Lock()
	if o, ok := r.intents[at]; ok && o.Action == journal.Create {
		r.doubts[at] = o
	}
	r.mu.Unlock()
	return r.w.Unsure(at)
}

// Output implements apply.Journal.
func (r *recorder) Output(name string, o *state.Output) error { return r.w.Output(name, o) }

// keepSaving saves as long as there is something new. That saving in between
// fails is no reason to stop: the journal has everything, and the end tries
// again, and tells.
func (r *recorder) keepSaving(done chan struct{}) {
	defer close(done)
	wait := max(shortWait, r.every)
	hurry := r.hurry
	for {
		select {
		case <-time.After(wait):
		case <-hurry:
			hurry = nil
		case <-r.stop:
			return
		}
		r.mu.Lock()
		if !r.dirty || !r.hurried && !r.affordable() {
			r.saver = nil
			r.mu.Unlock()
			return
		}
		r.dirty, r.hurried = false, false
		snapshot := r.state.Clone()
		r.mu.Unlock()
		began := time.Now()
		_ = r.s.save(r.ctx, snapshot)
		wait = max(shortWait, waitFactor*time.Since(began), r.every)
		r.mu.Lock()
		r.written += int64(len(r.s.saved))
		r.mu.Unlock()
	}
}

// affordable reports whether another state may be written.
func (r *recorder) affordable() bool {
	return r.written+int64(len(r.s.saved)) <= freeBytes+2*r.w.Size()
}

// rest ends saving in between.
func (r *recorder) rest() {
	close(r.stop)
	r.mu.Lock()
	saver := r.saver
	r.mu.Unlock()
	if saver != nil {
		<-saver
	}
}

// finish ends the journal once the state is saved. What is still in doubt
// stays in it.
func (r *recorder) finish() error {
	if err := r.w.End(); err != nil {
		return err
	}
	left := slices.SortedFunc(maps.Values(r.doubts), func(a, b journal.Operation) int { return a.Object.Compare(b.Object) })
	r.s.journal = nil
	if len(left) == 0 {
		return r.w.Remove()
	}
	r.w.Close()
	return r.s.keepDoubts(left)
}
