package lockedstate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/statefile"
)

// A Recorder keeps what an apply does while it runs: at once in the journal,
// and in the stored state as often as that costs little, for the sake of
// other programs that read it.
type Recorder struct {
	ctx context.Context
	s   *Session
	w   *journal.Writer

	state *state.Snapshot // what was saved last; only who saves has it

	mu      sync.Mutex
	news    []news                            // since then
	doubts  map[addr.Object]journal.Operation // creates without an answer
	intents map[addr.Object]journal.Operation
	saver   chan struct{} // closed when nobody saves any more; nil when nobody does
	stop    chan struct{}
	hurry   <-chan struct{} // closed by an interrupt: who knows what comes next
	hurried bool
	pace    pace
	notes   *notes
}

// A news is the present form of an object, nil for nothing.
type news struct {
	at     addr.Object
	stored *state.Object
}

// Record begins an apply: it rejects one whose results could not be kept, opens the journal
// and starts from the state that apply starts from. An interrupt has everything saved at once.
// The recorder is nil where nothing happens to objects. Keep ends what it begins.
func (l *Claimed) Record(ctx context.Context, p *plan.Plan, interrupted <-chan struct{}) (*Recorder, diag.List) {
	s := l.Session
	if !effects(p) {
		return nil, nil
	}
	if s.unread {
		return nil, diag.Unwritable.As("Failed to write the journal").List("Nothing was done, because another run in this directory was still writing the journal %s when this one read the state. Run the command again when it has ended.", s.journalPath())
	}
	if diags := s.preflight(ctx, p); diags.HasErrors() {
		return nil, diags
	}
	r, err := s.recorder(ctx, p, interrupted)
	if err != nil {
		return nil, diag.Unwritable.As("Failed to write the journal").List("Nothing was done, because the journal %s, which would remember it, can't be written: %s.", s.journalPath(), diag.Cause(err))
	}
	var diags diag.List
	if r.notes, diags = s.note(ctx, p); diags.HasErrors() {
		r.giveUp()
		return nil, diags
	}
	return r, diags
}

// giveUp ends what was started and has done nothing. The journal stays: it may have what an
// earlier one knew.
func (r *Recorder) giveUp() {
	r.rest()
	r.w.Close()
	r.s.journal = nil
}

func (s *Session) recorder(ctx context.Context, p *plan.Plan, interrupted <-chan struct{}) (*Recorder, error) {
	start := p.Refreshed
	if start == nil {
		start = state.Empty()
	}
	r := &Recorder{
		ctx: ctx, s: s, state: start, stop: make(chan struct{}), hurry: interrupted,
		doubts: map[addr.Object]journal.Operation{}, intents: map[addr.Object]journal.Operation{},
		pace: pace{asked: s.Interval, began: s.Now()},
	}
	for _, o := range s.doubts {
		r.doubts[o.Object] = o
	}
	var err error
	if s.Notes != nil {
		s.folded = false
		go r.saveWhenInterrupted()
		return r, nil
	}
	// Changes by refreshing and moving belong to the start.
	if r.w, err = journal.Start(s.Disk, s.journalPath(), s.journalBegin(), s.doubts, changes(s.base, start), s.sealsKeys()); err != nil {
		return nil, err
	}
	s.journal, s.folded, s.began = r.w, false, s.Now()
	go r.saveWhenInterrupted()
	return r, nil
}

// changes are the objects of next that base doesn't have, and nil for those
// that only base has. A saved plan has copies of those in base.
func changes(base, next *state.Snapshot) map[addr.Object]*state.Object {
	out := map[addr.Object]*state.Object{}
	var before map[addr.Object]*state.Object
	if base != nil {
		before = base.Objects
	}
	for at, o := range next.Objects {
		if at.Name.Mode == addr.Managed && (before[at] == nil || !statefile.SameObject(before[at], o)) {
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
func (r *Recorder) Intent(i plan.Intent) error {
	o := journal.Operation{Object: i.Object, Action: i.Action.String(), Provider: i.Provider, Key: i.Key, ID: i.ID, Needs: i.Needs}
	if o.Action == journal.Create {
		o.Former = r.s.former(o.Object)
	}
	r.mu.Lock()
	r.intents[o.Object] = o
	r.mu.Unlock()
	if err := r.notes.begin(r.ctx, o); err != nil {
		return fmt.Errorf("it can't be noted beside the state: %w", err)
	}
	return r.w.Intent(o)
}

// Result implements apply.Journal.
func (r *Recorder) Result(at addr.Object, stored *state.Object) error {
	return r.result(at, stored, r.w.Result)
}

// ResultSoon implements apply.Journal.
func (r *Recorder) ResultSoon(at addr.Object, stored *state.Object) error {
	return r.result(at, stored, r.w.ResultSoon)
}

func (r *Recorder) result(at addr.Object, stored *state.Object, record func(addr.Object, *state.Object) error) error {
	err := record(at, stored)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended(at, stored)
	r.news = append(r.news, news{at, stored})
	r.wake()
	return err
}

// Moved implements apply.Journal.
func (r *Recorder) Moved(from, to addr.Object, stored *state.Object) error {
	err := r.w.Moved(from, to, stored)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended(from, nil)
	r.ended(to, stored)
	r.news = append(r.news, news{from, nil}, news{to, stored})
	r.wake()
	return err
}

// ended ends the intent of a place that has another object now, nil for none. An object that was there
// before the one in doubt doesn't end the doubt, whatever becomes of it. r.mu is held.
func (r *Recorder) ended(at addr.Object, stored *state.Object) {
	if r.intents[at].Action == journal.Create {
		r.notes.ended(at, stored)
	}
	delete(r.intents, at)
	if r.doubts[at].Settled(stored) {
		delete(r.doubts, at)
	}
}

// wake has what is new saved before long. r.mu is held.
func (r *Recorder) wake() {
	if r.saver == nil {
		r.saver = make(chan struct{})
		go r.keepSaving(r.saver)
	}
}

// saveWhenInterrupted saves at once what is known when the run is interrupted,
// whatever that costs: the next signal may be the last.
func (r *Recorder) saveWhenInterrupted() {
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
func (r *Recorder) Unsure(at addr.Object) error {
	r.mu.Lock()
	if o, ok := r.intents[at]; ok && o.Action == journal.Create {
		r.doubts[at] = o
	}
	delete(r.intents, at)
	r.mu.Unlock()
	return r.w.Unsure(at)
}

// Invoke implements apply.Journal.
func (r *Recorder) Invoke(label string) error { return r.w.Invoke(label) }

// Invoked implements apply.Journal.
func (r *Recorder) Invoked(label string) error { return r.w.Invoked(label) }

// Output implements apply.Journal.
func (r *Recorder) Output(name string, o *state.Output) error { return r.w.Output(name, o) }

// keepSaving saves as long as there is something new. That saving in between fails is no
// reason to stop: the journal has everything, and the end tries again, and reports.
func (r *Recorder) keepSaving(done chan struct{}) {
	defer close(done)
	wait := r.pace.first()
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
		if len(r.news) == 0 {
			r.saver = nil
			r.mu.Unlock()
			return
		}
		if !r.hurried && !r.pace.affordable(r.s.saved.size, r.w.Size(), r.s.Now()) {
			wait = time.Second
			r.mu.Unlock()
			continue
		}
		fresh := r.news
		r.news, r.hurried = nil, false
		r.mu.Unlock()
		r.state = r.state.Clone()
		for _, n := range fresh {
			if n.stored == nil {
				delete(r.state.Objects, n.at)
			} else {
				r.state.Objects[n.at] = n.stored
			}
		}
		began := r.s.Now()
		if r.s.save(r.ctx, r.state) == nil {
			r.notes.saved(r.state)
		}
		took := r.s.Now().Sub(began)
		r.mu.Lock()
		wait = r.pace.saved(took, r.s.saved.size)
		r.mu.Unlock()
	}
}

// Keep saves the state after an apply, whatever came of it, and ends what Record
// began. Without a result nothing was done.
func (l *Claimed) Keep(ctx context.Context, r *Recorder, result *state.Snapshot) diag.List {
	s := l.Session
	if r != nil {
		r.rest()
	}
	var diags diag.List
	if result == nil {
		if r != nil {
			r.w.Close()
		}
		return diags
	}
	if err := s.save(ctx, result); err != nil {
		// The journal stays: the next run saves what it has.
		if r != nil {
			r.w.Close()
		}
		s.unsaved = r != nil && r.w != nil
		return s.rescue(s.stamped(result), err)
	}
	if r == nil {
		return diags
	}
	s.base = s.stamped(result)
	if err := r.finish(); err != nil {
		diags.Append(diag.Unwritable.As("Failed to end the journal").Warnings("The state is saved, but the journal %s can't be ended: %s. The next run does that.", s.journalPath(), diag.Cause(err)))
	}
	return diags
}

// rest ends saving in between.
func (r *Recorder) rest() {
	close(r.stop)
	r.mu.Lock()
	saver := r.saver
	r.mu.Unlock()
	if saver != nil {
		<-saver
	}
	r.state, r.news = nil, nil // who ends the apply has all of it
}

// finish ends the journal once the state is saved. Anything that is still in doubt stays in
// it.
func (r *Recorder) finish() error {
	left := slices.SortedFunc(maps.Values(r.doubts), func(a, b journal.Operation) int { return a.Object.Compare(b.Object) })
	r.s.doubts = left // also if the journal can't be ended, so that the lock stays where only the journal has them
	if err := r.w.End(); err != nil {
		r.w.Close()
		return err
	}
	r.s.journal = nil
	if len(left) == 0 {
		if err := r.s.writeNote(r.ctx, nil); err != nil {
			r.w.Close() // else nobody in this process could go on
			return err
		}
		return r.w.Remove()
	}
	r.w.Close()
	return r.s.settle(left)
}
