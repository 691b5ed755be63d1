package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/actions"
)

// invoke plans the invocation that -invoke requests, and nothing else.
func (r *run) invoke(t *promise.Task) {
	asking := actions.Asking{Actions: r.actions, Root: r.root, Target: *r.Invoke, Exists: func(i addr.Instance) bool {
		return r.prior.Current(i) != nil && r.selection.chooses(i)
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
			p.Schemas[at], _ = r.Pool.Schemas(at) // it was asked before
		}
	}
}
