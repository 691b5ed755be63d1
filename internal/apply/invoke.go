package apply

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// invoke does one invocation, unless the change that it is for failed or its
// condition isn't true in the end.
func (r *run) invoke(t *promise.Task, s *step) {
	inv := r.Plan.Invocations[s.Invocation-1]
	caller, happens := r.caller(s, inv)
	if !happens {
		return
	}
	if wanted, ok := r.wanted(t, inv); !ok || !wanted {
		return
	}
	conn := r.conn(t, *s.Provider)
	if conn == nil {
		return
	}
	config, action, ok := r.config(t, inv, conn, caller)
	if !ok {
		return
	}
	diags := r.callAction(s, inv, conn, config, action)
	if !diags.HasErrors() {
		t.Report(diags...)
		return
	}
	switch {
	case inv.Failure == actiontrigger.Continue || inv.Event.Ends() && r.Plan.Mode == plan.Destroy:
		for n := range diags { // what is to go isn't held up
			diags[n].Severity = diag.Warning
		}
	case inv.Failure == actiontrigger.Taint && inv.Event == actiontrigger.AfterCreate:
		if stored := r.working.object(*s.Object); stored != nil {
			tainted := *stored
			tainted.Tainted = true
			diags.Append(r.working.result(*s.Object, &tainted))
		}
	}
	t.Report(diags...)
}

// caller is the object of the instance that triggers an invocation, with its values at that time.
// happens is false if its change failed: the action belongs to a change that didn't take place.
func (r *run) caller(s *step, inv *plan.Invocation) (v cty.Value, happens bool) {
	switch {
	case inv.Event == 0 || inv.Event.Ends():
		return cty.NilVal, true
	case inv.Event.Before():
		final := r.progress.outcome(s, execgraph.Finalize).final
		if final == nil {
			return cty.NilVal, false
		}
		block := final.op.Subject.Schema.Block
		return block.MarkSensitive(resourceconfig.MarkPaths(final.planned.Value, final.config.Sensitive)), !final.nothing()
	}
	if made := r.progress.outcome(s, execgraph.Provision).value; made != cty.NilVal {
		return made, true
	}
	out := r.progress.outcome(s, execgraph.Apply)
	return out.value, !out.nothing
}

// wanted reports whether the trigger's condition is true.
func (r *run) wanted(t *promise.Task, inv *plan.Invocation) (wanted, ok bool) {
	if inv.Event == 0 || inv.Event.Ends() {
		return true, true
	}
	i := r.find(t, inv.Object)
	if i == nil || inv.Block >= len(i.Resource.Triggers) {
		t.Fail()
		return false, false
	}
	v, ok := resourceconfig.Wanted(t, i, i.Resource.Triggers[inv.Block])
	if !ok {
		return false, false
	}
	if !v.IsKnown() {
		return false, t.Report(diag.Bug.As("Unknown condition when invoking action before apply").New(diag.Error, "Whether %s is invoked still isn't known, although everything that the condition depends on is done. This is a bug in weir.", inv.Addr))
	}
	return v.True(), true
}

// config is what an action is configured with now, with its block.
func (r *run) config(t *promise.Task, inv *plan.Invocation, conn *providerclient.Conn, caller cty.Value) (cty.Value, *eval.Instance, bool) {
	if inv.Event.Ends() {
		v, _ := inv.Config.UnmarkDeep()
		return v, r.standIn(inv.Addr), true
	}
	action := r.find(t, inv.Addr)
	sch := conn.Schemas.Resource(addr.Action, inv.Addr.Name.Type)
	if action == nil || sch == nil {
		t.Fail()
		return cty.DynamicVal, nil, false
	}
	if caller == cty.NilVal && inv.Object != (addr.Instance{}) {
		i := r.find(t, inv.Object)
		if i == nil {
			t.Fail()
			return cty.DynamicVal, nil, false
		}
		var ok bool
		if caller, ok = i.Value(t, nil); !ok {
			return cty.DynamicVal, action, false
		}
	}
	var config resourceconfig.Config
	ok := t.Amend(in(inv.Addr), func() { config, _ = resourceconfig.ForCaller(t, action, sch, caller) })
	if ok && !config.Value.IsWhollyKnown() {
		ok = t.Report(UnknownAction.Error(action.Resource.Range, "The configuration of %s isn't wholly known when it is to be invoked. It may refer to attributes of the caller that are only known when that is made: use them with an event that comes after the change.", inv.Addr))
	}
	return config.Value, action, ok
}

// callAction has the provider do it.
func (r *run) callAction(s *step, inv *plan.Invocation, conn *providerclient.Conn, config cty.Value, action *eval.Instance) diag.List {
	var diags diag.List
	begun := false
	e := event.Event{Kind: event.ActionStart, Step: s.id, Invocation: inv, Addr: addr.Object{Instance: inv.Object}}
	r.call(conn, ratelimit.Once, inv.Addr.Name, func(ctx context.Context) diag.List {
		if r.progress.halted() {
			return nil
		}
		if r.Journal != nil {
			if diags = r.begun(inv.Addr.String(), r.Journal.Invoke(inv.Label())); diags.HasErrors() {
				return nil
			}
		}
		begun = true
		r.tell(e)
		diags = conn.InvokeAction(ctx, inv.Addr.Name.Type, config, func(message string) {
			said := e
			said.Kind, said.Text = event.ActionProgress, message
			r.tell(said)
		})
		return diags
	})
	if !begun && diags.HasErrors() {
		return diags
	}
	if !begun {
		return diag.List{Halted.New(diag.Error, "%s wasn't invoked, because the run was interrupted.", inv.Addr)}
	}
	e.Kind = event.ActionComplete
	if r.Journal != nil {
		if err := r.Journal.Invoked(inv.Label()); err != nil {
			diags.Add(diag.Unwritable.As(journalFailed).New(diag.Error, "%s was invoked, but that can't be journalled: %s.", inv.Addr, err))
		}
	}
	if diags.HasErrors() {
		e.Kind, e.Text = event.ActionErrored, diags.Reason()
	}
	r.tell(e)
	at := inv.Addr.String()
	if inv.Object != (addr.Instance{}) {
		at += ", called from " + inv.Object.String()
	}
	if action == nil {
		return diags.InAddress(at)
	}
	return providerclient.Locate(diags, action.Resource.Config, at)
}
