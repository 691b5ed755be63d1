package apply

import (
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// A Journal keeps what would be lost with the process. When a method returns without an error,
// what it was reported survives the process; when Intent does, the intent and all that was
// reported before survive the machine.
type Journal interface {
	// Intent says that an object is about to be created, changed or deleted.
	Intent(plan.Intent) error
	// Result has the present form of the object, nil for nothing. It ends the
	// intent.
	Result(o addr.Object, stored *state.Object) error
	// ResultSoon is Result for an object that exists in the state and nowhere else, which has
	// no intent. The process may end without it until something else is reported.
	ResultSoon(o addr.Object, stored *state.Object) error
	// Moved says that an object isn't where it was before but in another place of the
	// same instance: it is deposed, or taken back.
	Moved(from, to addr.Object, stored *state.Object) error
	// Unsure says that the provider was asked and gave no answer. The intent
	// stays open.
	Unsure(o addr.Object) error
	// Invoke says that an action is about to be invoked, and Invoked that it has ended,
	// in words that only it has.
	Invoke(label string) error
	Invoked(label string) error
	// Output says what a root output is now, nil for nothing.
	Output(name string, o *state.Output) error
}

const journalFailed = "Failed to write the journal"

// working is the state that steps change, with its journal.
type working struct {
	journal Journal // nil for none

	mu    sync.Mutex
	state *state.Snapshot
}

// object is what the state has at an address now, nil for nothing.
func (w *working) object(o addr.Object) *state.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Objects[o]
}

// set changes the state; nil removes the object.
func (w *working) set(o addr.Object, stored *state.Object) {
	w.mu.Lock()
	if stored == nil {
		delete(w.state.Objects, o)
	} else {
		w.state.Objects[o] = stored
	}
	w.mu.Unlock()
}

// result changes the working state and journals the present form; nil is for
// nothing.
func (w *working) result(o addr.Object, stored *state.Object) diag.List {
	return w.ended(o, stored, Journal.Result)
}

func (w *working) ended(o addr.Object, stored *state.Object, record func(Journal, addr.Object, *state.Object) error) diag.List {
	w.set(o, stored)
	if w.journal == nil {
		return nil
	}
	var diags diag.List
	if err := record(w.journal, o, stored); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "The result of %s is known and will be in the state, but the journal can't be written: %s.", o, err))
	}
	return diags
}

// moved changes the working state and journals that an object is in another place of its
// instance, both at once: nobody sees it twice, or not at all.
func (w *working) moved(from, to addr.Object, stored *state.Object) diag.List {
	w.mu.Lock()
	w.state.Objects[to] = stored
	delete(w.state.Objects, from)
	w.mu.Unlock()
	if w.journal == nil {
		return nil
	}
	var diags diag.List
	if err := w.journal.Moved(from, to, stored); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "%s is %s now and will be in the state, but it can't be journalled: %s.", from, to, err))
	}
	return diags
}

// unsure notes that it isn't known what became of an object.
func (w *working) unsure(i plan.Intent) diag.List {
	var diags diag.List
	switch i.Action {
	case plan.Create:
		recorded := "It is recorded as in doubt, and it won't be created again before you resolve it: see \"recover\"."
		if w.journal == nil {
			recorded = "Nothing is recorded of that, so the next apply creates it again. Look for the object first."
		}
		diags.Add(MayBe.New(diag.Error, "The provider was asked to create %s and did not say what it made, so the object may exist. %s", i.Object, recorded))
	case plan.Delete:
		diags.Add(MayBe.As("Object may be gone").New(diag.Error, "The provider was asked to delete %s and did not say what became of it. The object stays in the state; the next plan finds out whether it still exists.", i.Object))
	default:
		diags.Add(MayBe.As("Object may have changed").New(diag.Error, "The provider was asked to change %s and did not say what became of it. The next plan finds out what the object is like.", i.Object))
	}
	if w.journal == nil {
		return diags
	}
	if err := w.journal.Unsure(i.Object); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "%s is in doubt, and that can't be journalled: %s.", i.Object, err))
	}
	return diags
}

// output changes the working state and journals the output if it is other
// than before; nil is for none.
func (w *working) output(name string, o *state.Output) diag.List {
	w.mu.Lock()
	old, had := w.state.Outputs[name]
	same := !had
	if o == nil {
		delete(w.state.Outputs, name)
	} else {
		w.state.Outputs[name] = *o
		same = had && old.Sensitive == o.Sensitive && old.Deprecated == o.Deprecated && old.Value.RawEquals(o.Value)
	}
	w.mu.Unlock()
	if same || w.journal == nil {
		return nil
	}
	var diags diag.List
	if err := w.journal.Output(name, o); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "Output %q will be in the state, but it can't be journalled: %s.", name, err))
	}
	return diags
}
