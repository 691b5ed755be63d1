// Package actions plans the additions to an object's change: invoked actions, needs of
// provisioners, and replacements that it triggers. It also plans actions from the command
// line.
//
// It owns when an action is invoked, and what is asked of its provider before. It doesn't know
// how the change came about.
package actions

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// Actions plans invocations with the providers of a pool.
type Actions struct {
	Context context.Context
	Pool    *providerclient.Pool
	// AllowDeferral: providers may deferred what they can't plan yet.
	AllowDeferral bool
}

// happens reports whether a change results in an event.
func happens(e actiontrigger.Event, a plan.Action) bool {
	switch e {
	case actiontrigger.BeforeCreate, actiontrigger.AfterCreate:
		return a == plan.Create || a.IsReplace()
	case actiontrigger.BeforeUpdate, actiontrigger.AfterUpdate:
		return a == plan.Update
	}
	return a == plan.Delete || a == plan.DeleteThenCreate || a == plan.CreateThenDelete
}

// Invocations are those around a change. i is its instance, or what stands for one that
// the configuration doesn't have any more. The change has to wait where there is a
// reason for deferring.
func (a Actions) Invocations(t *promise.Task, i *eval.Instance, c *plan.Change) (list []*plan.Invocation, reason provider.DeferredReason, ok bool) {
	before := t.Failures()
	for n, of := range i.Resource.Triggers {
		events := slices.DeleteFunc(slices.Clone(of.Events), func(e actiontrigger.Event) bool { return !happens(e, c.Action) })
		if len(events) == 0 {
			continue
		}
		wanted, ok := resourceconfig.Wanted(t, i, of)
		if !ok || wanted.IsKnown() && wanted.False() {
			continue
		}
		for _, event := range events {
			for at, ref := range of.Actions {
				inv := &plan.Invocation{Object: c.Addr.Instance, Event: event, Block: n, Index: at, Failure: of.Failure}
				why, ok := a.one(t, i, c, ref, inv)
				if reason == "" {
					reason = why
				}
				if ok {
					list = append(list, inv)
				}
			}
		}
	}
	return list, reason, t.Failures() == before
}

// one plans one invocation around a change.
func (a Actions) one(t *promise.Task, i *eval.Instance, c *plan.Change, ref *program.Ref, inv *plan.Invocation) (provider.DeferredReason, bool) {
	actions, ok := i.Frame.Referents(t, ref, i.Context(t, cty.NilVal))
	if !ok || len(actions) == 0 {
		return "", ok
	}
	caller := c.After
	if inv.Event.Ends() {
		caller = c.Before
	}
	reason, ok := a.Plan(t, actions[0], caller, inv)
	if ok && inv.Event.Ends() && !inv.Config.IsWhollyKnown() {
		ok = t.Report(UnknownInvocation.Error(actions[0].Resource.Range, "The configuration of %s when %s is destroyed has to be known in the plan: its references may be gone by then.", actions[0], c.Addr))
	}
	return reason, ok
}

// Plan asks the provider of an action whether it may be invoked, with that caller, NilVal
// for none, and fills in the invocation.
func (a Actions) Plan(t *promise.Task, action *eval.Instance, caller cty.Value, inv *plan.Invocation) (provider.DeferredReason, bool) {
	pi, ok := action.Provider(t)
	if !ok {
		return "", false
	}
	conn := a.Pool.Open(t, pi)
	if conn == nil {
		return "", false
	}
	typ := action.Addr.Name.Type
	sch := conn.Schemas.Resource(addr.Action, typ)
	if sch == nil {
		return "", t.Report(resourceconfig.Unsupported(action.Resource.TypeRange, pi.Addr.Provider, action.Addr.Name, conn.Schemas)...)
	}
	config, ok := resourceconfig.ForCaller(t, action, sch, caller)
	if !ok {
		return "", false
	}
	inv.Addr, inv.Provider, inv.Config = action.Addr, conn.Addr, config.Kept(sch)
	var answer provider.PlanActionResponse
	a.Pool.Call(func() {
		if answer.Diags = conn.ValidateResource(a.Context, addr.Action, typ, config.Value); !answer.Diags.HasErrors() {
			answer = conn.PlanAction(a.Context, typ, config.Value)
		}
	})
	ok = t.Report(providerclient.Locate(answer.Diags, action.Resource.Config, action.String())...)
	if answer.Deferred != "" && !a.AllowDeferral {
		ok = t.Report(lifecycle.InvalidPlan.As("Provider deferred changes when deferral is not allowed").Error(action.Resource.Range, "The provider of %s can't plan it yet (%s). Use -allow-deferral to do the rest now and this in a later run.", action, answer.Deferred))
	}
	return answer.Deferred, ok
}

// Leaving stands for an instance that the configuration doesn't have any more, though it
// has the resource; nil where it hasn't. f is its module instance, nil where that is gone.
func Leaving(f *eval.Frame, i addr.Instance) *eval.Instance {
	if f == nil || f.Program.ResourceByName[i.Name] == nil {
		return nil
	}
	return &eval.Instance{Addr: i, Frame: f, Resource: f.Program.ResourceByName[i.Name], Each: &eval.Each{Key: i.Key, Value: cty.DynamicVal}}
}

// Replaces reports whether a change to what the reference names, which may be nil, replaces
// the caller that refers to it in replace_triggered_by; creations says whether creating does.
func Replaces(c *plan.Change, ref *program.Ref, creations bool) bool {
	if c == nil {
		return false
	}
	switch c.Action {
	case plan.Create:
		if !creations {
			return false
		}
	case plan.Update, plan.DeleteThenCreate, plan.CreateThenDelete, plan.ForgetThenCreate:
	default:
		return false
	}
	if len(ref.Rest) == 0 {
		return true
	}
	before, hd := ref.Rest.TraverseRel(c.Before)
	if hd.HasErrors() || c.Before.IsNull() {
		return true
	}
	after, hd := ref.Rest.TraverseRel(c.After)
	if hd.HasErrors() {
		return true
	}
	before, _ = before.UnmarkDeep()
	after, _ = after.UnmarkDeep()
	same := before.Equals(after)
	return !same.IsKnown() || same.False()
}
