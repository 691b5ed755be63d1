package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/relevantattrs"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/state"
)

// A destroyer is the host of a plan to destroy: blocks have the instances
// that the state has, and references answer with what exists. Only what the
// providers' configurations need is evaluated.
type destroyer struct{ *run }

// Expand implements eval.Host.
func (d *destroyer) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	if e, ok := instance.Existing(d.prior.Keys, b); ok {
		return e, true
	}
	return d.run.Expand(t, b, configured)
}

// Resource implements eval.Host.
func (d *destroyer) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	switch i.Addr.Name.Mode {
	case addr.Data:
		return d.storedData(t, i)
	case addr.Ephemeral:
		return d.ephemeral(t, i)
	case addr.Action:
		return d.run.Resource(t, i)
	}
	previous, stored := d.prior.ClaimFor(i.Addr)
	if stored == nil {
		return cty.DynamicVal, true
	}
	o, ok := d.connect(t, i, previous, stored)
	if !ok {
		return cty.DynamicVal, false
	}
	defer o.settle()
	o.wasAt(previous)
	o.stored = stored
	if !d.readPrior(t, o) {
		return cty.DynamicVal, false
	}
	v := instance.Marked(o.subject.Schema, o.before.Value, o.stored)
	if !o.before.Exists() {
		d.record(o)
		return cty.DynamicVal, true
	}
	if !d.destroys(i.Addr) {
		d.recordNoOp(o)
		return v, true
	}
	d.run.deletion(o)
	switch {
	case d.holds(o):
		d.postponeChange(o, neededInDoubt)
		return v, true
	case i.Resource.SkipDestroy:
		o.change.Action, o.change.Reason = plan.Forget, plan.ForgotDestroyFalse
	case stored.SkipDestroy && !i.Resource.Repeat.IsSingle():
		// Whether it is an instance that the configuration still has isn't
		// looked at here; if it isn't, this was its last word.
		o.change.Action, o.change.Reason = plan.Forget, plan.ForgotDestroyFalseState
	default:
		if ok = d.guard(t, o, i.Resource, i.Frame); ok {
			ok = d.run.planDeletion(t, o)
			ok = d.leaving(t, o) && ok
		}
	}
	d.record(o)
	return v, ok
}

// connect finds the provider of a stored instance. The object belongs to the
// one that made it: what the configuration says of that may follow from values
// that a plan to destroy doesn't have, such as each.value. Where that provider
// configuration is gone, or the type has changed, the one configured now has to
// do.
func (d *destroyer) connect(t *promise.Task, i *eval.Instance, previous addr.Instance, stored *state.Object) (*object, bool) {
	now := addr.Object{Instance: i.Addr}
	found := false
	t.Collect(func() { _, found = d.run.storedProvider(t, now, stored.Provider) }) // reported below
	if !found || previous.Name.Type != i.Addr.Name.Type {
		return d.open(t, i)
	}
	o, ok := d.run.leftover(t, addr.Object{Instance: previous}, now, i.Frame)
	if ok {
		o.instance = i
	}
	return o, ok
}

// storedData answers with a data source's stored result, or reads it.
func (d *destroyer) storedData(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	stored := d.prior.Current(i.Addr)
	if stored == nil {
		return d.data(t, i)
	}
	o, ok := d.connect(t, i, i.Addr, stored)
	if !ok {
		return cty.DynamicVal, false
	}
	v, err := o.subject.Decode(stored)
	if err != nil {
		return d.data(t, i)
	}
	return instance.Marked(o.subject.Schema, v, stored), true
}

// destroys reports whether a plan to destroy includes the object.
func (r *run) destroys(i addr.Instance) bool {
	r.destroyOnce.Do(func() { r.destroyed = r.scope.Destroyed(r.prior.Snapshot, r.prior.Now) })
	return r.destroyed == nil || r.destroyed[i]
}

// endsWithObjects reports whether a plan to destroy removes an output: where
// only some objects are destroyed, one that reads objects of which all are.
// Outputs that read others too stay unchanged until the next apply.
func (r *run) endsWithObjects(o *program.Output) bool {
	if r.scope.Whole() {
		return true
	}
	if o.Expr == nil {
		return false
	}
	ends := false
	for _, a := range relevantattrs.ReadBy(r.root, o.Expr) {
		of := a.Resource.Resource
		for _, key := range r.prior.Keys.Resource(of) {
			i := of.Instance(key)
			switch {
			case a.Resource.Key != addr.NoKey && a.Resource.Key != key:
			case !r.destroys(i):
				return false
			default:
				ends = true
			}
		}
	}
	return ends
}

// walkStored evaluates the instances that the state has in the modules that
// the configuration still has; the sweep deals with the others.
func (d *destroyer) walkStored(t *promise.Task, f *eval.Frame) {
	for _, res := range f.Program.Resources {
		if res.Name.Mode != addr.Managed {
			continue
		}
		for _, i := range f.Instances(t, res, nil) {
			if d.destroys(i.Addr) {
				d.rt.Go(func(t *promise.Task) { i.Value(t, nil) })
			}
		}
	}
	for _, c := range f.Program.AllCalls() {
		for _, child := range f.Calls(t, c, nil) {
			d.rt.Go(func(t *promise.Task) { d.walkStored(t, child) })
		}
	}
}
