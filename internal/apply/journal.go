package apply

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/ratelimit"
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

// intended is an intent with what only its telling needs.
type intended struct {
	plan.Intent
	sensitive []cty.Path // beside what the schema says
}

const journalFailed = "Failed to write the journal"

// intent journals an intent. Without a journal nothing further is started.
func (r *run) intent(i plan.Intent) diag.List {
	if r.Journal == nil {
		return nil
	}
	return r.begun(i.Object.String(), r.Journal.Intent(i))
}

// begun ends the run where it couldn't be journalled that something begins.
func (r *run) begun(what string, err error) diag.List {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	var diags diag.List
	diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "Nothing was done to %s, and nothing further is started, because the journal can't be written: %s.", what, err))
	return diags
}

// result changes the working state and journals the present form; nil is for
// nothing.
func (r *run) result(o addr.Object, stored *state.Object) diag.List {
	r.setObject(o, stored)
	if r.Journal == nil {
		return nil
	}
	var diags diag.List
	if err := r.Journal.Result(o, stored); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "The result of %s is known and will be in the state, but the journal can't be written: %s.", o, err))
	}
	return diags
}

// moved changes the working state and journals that an object is in another place of its
// instance, both at once: nobody sees it twice, or not at all.
func (r *run) moved(from, to addr.Object, stored *state.Object) diag.List {
	r.mu.Lock()
	r.state.Objects[to] = stored
	delete(r.state.Objects, from)
	r.mu.Unlock()
	if r.Journal == nil {
		return nil
	}
	var diags diag.List
	if err := r.Journal.Moved(from, to, stored); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "%s is %s now and will be in the state, but it can't be journalled: %s.", from, to, err))
	}
	return diags
}

// unsure notes that it isn't known what became of an object.
func (r *run) unsure(i plan.Intent) diag.List {
	var diags diag.List
	switch i.Action {
	case plan.Create:
		recorded := "It is recorded as in doubt, and it won't be created again before you resolve it: see \"recover\"."
		if r.Journal == nil {
			recorded = "Nothing is recorded of that, so the next apply creates it again. Look for the object first."
		}
		diags.Add(MayBe.New(diag.Error, "The provider was asked to create %s and did not say what it made, so the object may exist. %s", i.Object, recorded))
	case plan.Delete:
		diags.Add(MayBe.As("Object may be gone").New(diag.Error, "The provider was asked to delete %s and did not say what became of it. The object stays in the state; the next plan finds out whether it still exists.", i.Object))
	default:
		diags.Add(MayBe.As("Object may have changed").New(diag.Error, "The provider was asked to change %s and did not say what became of it. The next plan finds out what the object is like.", i.Object))
	}
	if r.Journal == nil {
		return diags
	}
	if err := r.Journal.Unsure(i.Object); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "%s is in doubt, and that can't be journalled: %s.", i.Object, err))
	}
	return diags
}

// effect changes an object. The intent is in the journal before the provider is called; without it
// a killed run couldn't know that the object may exist. The second result is false if the provider wasn't
// called, because the run was stopped or the journal failed. With provisions, the provisioners report the
// end of the change. In a batch this holds for each object.
func (r *run) effect(t *promise.Task, of *step, conn *providerclient.Conn, i intended, s lifecycle.Subject, in lifecycle.ApplyInput, provisions bool) (after lifecycle.Object, begun bool, diags diag.List) {
	e := event.Event{Kind: event.ApplyStart, Step: of.id, Addr: i.Object, Action: i.Action, IDKey: i.Key, IDValue: i.ID}
	change := func(ctx context.Context, s lifecycle.Subject) diag.List {
		if r.halted() {
			return nil
		}
		if diags = r.intent(i.Intent); diags.HasErrors() {
			return nil
		}
		begun = true
		r.tell(e)
		after, diags = s.Apply(ctx, in)
		return diags
	}
	if of.Batch > 0 {
		conn.AskOf(t, r.commands, ratelimit.Once, s, func(s lifecycle.Subject) diag.List {
			return r.timed(func(ctx context.Context) diag.List { return change(ctx, s) })
		})
	} else {
		r.call(ratelimit.Once, s.Source, s.Addr.Name, func(ctx context.Context) diag.List { return change(ctx, s) })
	}
	if !begun {
		return in.Prior, false, diags
	}
	e.Kind = event.ApplyComplete
	if diags.HasErrors() {
		e.Kind = event.ApplyErrored
	}
	e.IDKey, e.IDValue = instance.Identify(after.Value, s.Schema.Block, i.sensitive) // nothing for what is gone
	if !provisions || diags.HasErrors() {
		r.tell(e)
	}
	if after.Unanswered {
		diags.Append(r.unsure(i.Intent))
	}
	return after, true, diags
}

// halted reports whether nothing is to be started any more.
func (r *run) halted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = r.cut || r.stopped
	return r.stopped
}

// call runs a call of a provider within the limits of number and time. Nothing is waited
// for once the run is stopped.
func (r *run) call(k ratelimit.Kind, p addr.Provider, name addr.Name, do func(context.Context) diag.List) {
	r.pool.Ask(r.commands, k, p, name, func() diag.List { return r.timed(do) })
}

// timed runs a call within the limit of time.
func (r *run) timed(do func(context.Context) diag.List) diag.List {
	ctx := r.ctx
	if r.CallTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.CallTimeout)
		defer cancel()
	}
	return do(ctx)
}

// setOutput changes the working state and journals the output if it is other
// than before; nil is for none.
func (r *run) setOutput(name string, o *state.Output) diag.List {
	r.mu.Lock()
	old, had := r.state.Outputs[name]
	same := !had
	if o == nil {
		delete(r.state.Outputs, name)
	} else {
		r.state.Outputs[name] = *o
		same = had && old.Sensitive == o.Sensitive && old.Deprecated == o.Deprecated && old.Value.RawEquals(o.Value)
	}
	r.mu.Unlock()
	if same || r.Journal == nil {
		return nil
	}
	var diags diag.List
	if err := r.Journal.Output(name, o); err != nil {
		diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "Output %q will be in the state, but it can't be journalled: %s.", name, err))
	}
	return diags
}
