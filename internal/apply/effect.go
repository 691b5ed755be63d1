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

// intended is an intent with what only its telling needs.
type intended struct {
	plan.Intent
	sensitive []cty.Path // beside what the schema says
}

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
	r.progress.halt()
	var diags diag.List
	diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "Nothing was done to %s, and nothing further is started, because the journal can't be written: %s.", what, err))
	return diags
}

// effect changes an object. The intent is in the journal before the provider is called; without it
// a killed run couldn't know that the object may exist. An object that exists in the state and
// nowhere else needs none. The second result is false if the provider wasn't
// called, because the run was stopped or the journal failed. With provisions, the provisioners report the
// end of the change. In a batch this holds for each object.
func (r *run) effect(t *promise.Task, of *step, conn *providerclient.Conn, i intended, s lifecycle.Subject, in lifecycle.ApplyInput, provisions bool) (after lifecycle.Object, begun bool, diags diag.List) {
	e := event.Event{Kind: event.ApplyStart, Step: of.id, Addr: i.Object, Action: i.Action, IDKey: i.Key, IDValue: i.ID}
	change := func(ctx context.Context, s lifecycle.Subject) diag.List {
		if r.progress.halted() {
			return nil
		}
		if !conn.StateOnly(s.Addr.Name) {
			if diags = r.intent(i.Intent); diags.HasErrors() {
				return nil
			}
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
		r.call(conn, ratelimit.Once, s.Addr.Name, func(ctx context.Context) diag.List { return change(ctx, s) })
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
		diags.Append(r.working.unsure(i.Intent))
	}
	return after, true, diags
}

// call runs a call of a provider within the limits of number and time. Nothing is waited
// for once the run is stopped.
func (r *run) call(conn *providerclient.Conn, k ratelimit.Kind, name addr.Name, do func(context.Context) diag.List) {
	conn.Ask(r.commands, k, name, func() diag.List { return r.timed(do) })
}

// record puts what a step has made of an object into the working state and the journal. A
// provisioner may look for the object from outside, and finds it in the journal.
func (r *run) record(conn *providerclient.Conn, o addr.Object, stored *state.Object, provisions bool) diag.List {
	if conn.StateOnly(o.Name) && !provisions {
		return r.working.ended(o, stored, Journal.ResultSoon)
	}
	return r.working.result(o, stored)
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
