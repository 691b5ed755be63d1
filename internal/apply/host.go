package apply

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
)

// A host answers the evaluator from the results so far.
type host struct{ *run }

// Expand implements eval.Host: what was planned is expanded as it was then.
func (r host) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	if r.Plan.Mode == plan.Destroy {
		if e, ok := instance.Existing(r.keys, b); ok {
			return e, true
		}
	}
	e, ok := configured()
	waits := len(r.Plan.Deferred) > 0 || r.Plan.Mode == plan.RefreshOnly || r.partial() // for a plan that makes what it follows from
	if ok && e.Unknown && !waits {
		ok = t.Report(diag.Bug.As("Unknown repetition during apply").Error(b.Range(), "The instances of %s were known when the plan was made and aren't now. This is a bug in weir.", b))
	}
	return e, ok
}

// Resource implements eval.Host: the result of the instance's step, or what
// the state has where there is nothing to do.
func (r host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	if i.Addr.Name.Mode == addr.Action {
		return cty.DynamicVal, true // it is configured where it is invoked
	}
	if id, ok := r.givers.of(&i.Addr); ok {
		return r.resultOf(t, i, id)
	}
	c := r.changes[i.Addr]
	if c != nil {
		switch c.Action {
		case plan.NoOp:
			if c.After.IsNull() { // gone without our doing
				return i.Missing(c.After.Type(), r.keys.Resource(i.Addr.Resource)), true
			}
			return c.After, true
		case plan.Delete, plan.Forget:
			return c.Before, true
		}
		return r.unfinished(t, i)
	}
	return r.stored(t, i)
}

// resultOf is the value that a step gives an instance.
func (r host) resultOf(t *promise.Task, i *eval.Instance, id execgraph.ID) (cty.Value, bool) {
	r.mu.Lock()
	v, ended := r.steps[id].outcome.value, r.steps[id].ended
	r.mu.Unlock()
	switch {
	case v != cty.NilVal:
		return v, true
	case ended:
		return cty.DynamicVal, false
	}
	return r.unfinished(t, i)
}

// unfinished reports that a step has read an instance whose own step hasn't
// ended: the graph has to order every reader after it. The reader fails, and
// what was done so far is kept.
func (r host) unfinished(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	return cty.DynamicVal, t.Report(diag.Bug.Error(i.Resource.Range, "The value of %s was needed before its step had ended: the plan has the wrong order. Nothing was done with the missing value, and the state has all results. Please report this with the configuration. To continue, plan and apply again.", i.Addr))
}

// stored is the value of an instance that isn't part of the plan.
func (r host) stored(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	o := r.object(addr.Object{Instance: i.Addr})
	switch {
	case o == nil && r.partial():
		return cty.NilVal, true
	case o == nil:
		return i.Missing(cty.DynamicPseudoType, r.keys.Resource(i.Addr.Resource)), true
	}
	schemas, diags := r.pool.Schemas(o.Provider.Provider)
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
func (r host) partial() bool {
	return r.Plan.Mode != plan.Destroy && len(r.Plan.Targets)+len(r.Plan.Excludes) > 0
}

// find returns the evaluator's instance for an address, or nil.
func (r *run) find(t *promise.Task, a addr.Instance) *eval.Instance {
	f := r.frame(t, a.Module)
	if f == nil {
		return nil
	}
	res := f.Program.ResourceByName[a.Name]
	if res == nil {
		return nil
	}
	return f.Instance(t, res, a.Key)
}

// standIn is an instance for the end of an object, made without evaluating
// anything: which instances there are may follow from what is still to be
// done. It is nil when the configuration doesn't have the resource.
func (r *run) standIn(a addr.Instance) *eval.Instance {
	tree := r.Tree.At(a.Module)
	if tree == nil {
		return nil
	}
	res := tree.Program.ResourceByName[a.Name]
	if res == nil {
		return nil
	}
	each := &eval.Each{Key: a.Key, Value: cty.DynamicVal}
	return &eval.Instance{Addr: a, Frame: r.standInFrame(tree.Program, a.Module), Resource: res, Each: each}
}

// standInFrame is the frame of stand-ins.
func (r *run) standInFrame(p *program.Program, m addr.Module) *eval.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.standIns[m]
	if f == nil {
		f = r.root.Detached(p, m)
		r.standIns[m] = f
	}
	return f
}

// frame returns the module instance for an address, or nil.
func (r *run) frame(t *promise.Task, m addr.Module) *eval.Frame {
	f := r.root
	for _, s := range m.Steps() {
		var child *eval.Frame
		for _, c := range f.Program.Named(s.Call) {
			if child = f.Child(t, c, s.Key); child != nil {
				break
			}
		}
		if f = child; f == nil {
			return nil
		}
	}
	return f
}
