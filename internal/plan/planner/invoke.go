package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/actions"
)

func (r *run) actions() actions.Actions {
	return actions.Actions{Context: r.ctx, Pool: r.pool, AllowDeferral: r.AllowDeferral}
}

// triggered plans what is invoked around the change of an object.
func (r *run) triggered(t *promise.Task, o *object, i *eval.Instance) (ok bool) {
	invocations, reason, ok := r.actions().Invocations(t, i, o.change)
	if o.invocations = invocations; o.deferred == "" {
		o.deferred = reason
	}
	return ok
}

// leaving is triggered for the end of an object. Anyone who is read then reports its own
// problems.
func (r *run) leaving(t *promise.Task, o *object) (ok bool) {
	i := o.instance
	if i == nil && o.addr.Deposed == "" {
		i = actions.Leaving(r.frame(o.addr.Module), o.addr.Instance)
	}
	if i == nil || len(i.Resource.Triggers) == 0 {
		return true
	}
	diags, _ := t.Try(func(t *promise.Task) { r.triggered(t, o, i) })
	return t.Report(diags...)
}

// invoke plans the invocation that -invoke requests, and nothing else.
func (r *run) invoke(t *promise.Task) {
	asking := actions.Asking{Actions: r.actions(), Root: r.root, Target: *r.Invoke, Exists: func(i addr.Instance) bool {
		return r.prior.Current(i) != nil && r.chooses(i)
	}}
	r.asked = asking.Plan(t)
}

// invocations puts what is invoked in the plan.
func (r *run) invocations(objects []*object, p *plan.Plan) {
	for _, o := range objects {
		if o.change != nil {
			p.Invocations = append(p.Invocations, o.invocations...)
			continue
		}
		for _, inv := range o.invocations {
			inv.Config = cty.NilVal
			p.DeferredInvocations = append(p.DeferredInvocations, &plan.DeferredInvocation{Invocation: inv, Reason: deferredPrerequisite})
		}
	}
	for _, a := range r.asked {
		p.Invocations = append(p.Invocations, a.Invocation)
	}
	slices.SortFunc(p.Invocations, (*plan.Invocation).Compare)
	for _, i := range p.Invocations {
		if at := i.Provider.Provider; p.Schemas[at] == nil {
			p.Schemas[at], _ = r.pool.Schemas(at) // it was asked before
		}
	}
}
