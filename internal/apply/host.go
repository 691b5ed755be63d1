package apply

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// A host answers the evaluator from the results so far.
type host struct {
	providerclient.Base
	plan     *plan.Plan
	keys     *state.Keys // of the state before
	progress *progress
	working  *working
}

// Expand implements eval.Host: what was planned is expanded as it was then.
func (h *host) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	if h.plan.Mode == plan.Destroy {
		if e, ok := instance.Existing(h.keys, b); ok {
			return e, true
		}
	}
	e, ok := configured()
	waits := len(h.plan.Deferred) > 0 || h.plan.Mode == plan.RefreshOnly || h.partial() // for a plan that makes what it follows from
	if ok && e.Unknown && !waits {
		ok = t.Report(diag.Bug.As("Unknown repetition during apply").Error(b.Range(), "The instances of %s were known when the plan was made and aren't now. This is a bug in weir.", b))
	}
	return e, ok
}

// Resource implements eval.Host: the result of the instance's step, or what
// the state has where there is nothing to do.
func (h *host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	if i.Addr.Name.Mode == addr.Action {
		return cty.DynamicVal, true // it is configured where it is invoked
	}
	if id, ok := h.progress.givers.of(&i.Addr); ok {
		return h.resultOf(t, i, id)
	}
	c := h.progress.changes[i.Addr]
	if c != nil {
		switch c.Action {
		case plan.NoOp:
			if c.After.IsNull() { // gone without our doing
				return i.Missing(c.After.Type(), h.keys.Resource(i.Addr.Resource)), true
			}
			return c.After, true
		case plan.Delete, plan.Forget:
			return c.Before, true
		}
		return h.unfinished(t, i)
	}
	return h.stored(t, i)
}

// resultOf is the value that a step gives an instance.
func (h *host) resultOf(t *promise.Task, i *eval.Instance, id execgraph.ID) (cty.Value, bool) {
	v, ended := h.progress.value(id)
	switch {
	case v != cty.NilVal:
		return v, true
	case ended:
		return cty.DynamicVal, false
	}
	return h.unfinished(t, i)
}

// unfinished reports that a step has read an instance whose own step hasn't
// ended: the graph has to order every reader after it. The reader fails, and
// what was done so far is kept.
func (h *host) unfinished(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	return cty.DynamicVal, t.Report(diag.Bug.Error(i.Resource.Range, "The value of %s was needed before its step had ended: the plan has the wrong order. Nothing was done with the missing value, and the state has all results. Please report this with the configuration. To continue, plan and apply again.", i.Addr))
}

// stored is the value of an instance that isn't part of the plan.
func (h *host) stored(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	o := h.working.object(addr.Object{Instance: i.Addr})
	switch {
	case o == nil && h.partial():
		return cty.NilVal, true
	case o == nil:
		return i.Missing(cty.DynamicPseudoType, h.keys.Resource(i.Addr.Resource)), true
	}
	schemas, diags := h.Pool.Schemas(o.Provider.Provider)
	if diags.HasErrors() {
		return cty.DynamicVal, t.Report(diags...)
	}
	sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		return cty.DynamicVal, true
	}
	s := lifecycle.Subject{Addr: i.Addr, Schema: sch}
	v, err := s.Decode(o)
	if err != nil {
		return cty.DynamicVal, t.Report(diag.StateUnreadable.As("Invalid object in the state").New(diag.Error, "%s can't be read: %s. Refresh the state first.", i.Addr, err))
	}
	return instance.Marked(sch, v, o), true
}

// partial reports whether the plan leaves out what it wasn't asked for.
func (h *host) partial() bool {
	return h.plan.Mode != plan.Destroy && len(h.plan.Targets)+len(h.plan.Excludes) > 0
}
