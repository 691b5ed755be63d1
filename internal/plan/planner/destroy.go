package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// A destroyer is the host of a plan to destroy: blocks have the instances
// that the state has, and references answer with what exists. Only what the
// providers' configurations need is evaluated.
type destroyer struct {
	providerclient.Base
	expander *expander // for blocks that don't follow the state
	endings  *endings
	reads    *reads
}

// Expand implements eval.Host.
func (d *destroyer) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	if e, ok := instance.Existing(d.endings.prior.Keys, b); ok {
		return e, true
	}
	return d.expander.Expand(t, b, configured)
}

// Resource implements eval.Host.
func (d *destroyer) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	switch i.Addr.Name.Mode {
	case addr.Data:
		return d.storedData(t, i)
	case addr.Ephemeral:
		return d.reads.ephemeral(t, i)
	case addr.Action:
		return cty.DynamicVal, true // it is configured where it is invoked
	}
	e := d.endings
	previous, stored := e.prior.ClaimFor(i.Addr)
	if stored == nil {
		return cty.DynamicVal, true
	}
	at, ok := d.open(t, i, previous, stored)
	if !ok {
		return cty.DynamicVal, false
	}
	o, ok := e.reader.read(t, at)
	if !ok {
		return cty.DynamicVal, false
	}
	switch {
	case !o.now.Exists():
		e.record.add(o.decided(nil))
		return cty.DynamicVal, true
	case !e.selection.destroys(i.Addr):
		e.record.add(o.decided(o.noOp()))
		return o.value(), true
	}
	return o.value(), d.destroy(t, o)
}

// destroy plans the end of an object that exists.
func (d *destroyer) destroy(t *promise.Task, o *refreshedObject) (ok bool) {
	e, i := d.endings, o.Instance
	c := e.deletion(o)
	decided := o.decided(c)
	ok = true
	switch {
	case e.deferral.holds(o.priorObject):
		e.record.postpone(o.decided(nil), c, neededInDoubt)
		return true
	case i.Resource.SkipDestroy:
		c.Action, c.Reason = plan.Forget, plan.ForgotDestroyFalse
	case o.stored.SkipDestroy && !i.Resource.Repeat.IsSingle():
		// Whether it is an instance that the configuration still has isn't
		// looked at here; if it isn't, this was its last word.
		c.Action, c.Reason = plan.Forget, plan.ForgotDestroyFalseState
	default:
		if ok = e.options.guard(t, c, i.Resource, i.Frame); ok {
			ok = e.plan(t, o, c)
			var reported bool
			decided.invocations, reported = e.invocations(t, o, c)
			ok = ok && reported
		}
	}
	e.record.add(decided)
	return ok
}

// open finds the provider of a stored instance. The object belongs to the
// one that made it: what the configuration says of that may follow from values
// that a plan to destroy doesn't have, such as each.value. Where that provider
// configuration is gone, or the type has changed, the one configured now has to
// do.
func (d *destroyer) open(t *promise.Task, i *eval.Instance, previous addr.Instance, stored *state.Object) (*priorObject, bool) {
	now := addr.Object{Instance: i.Addr}
	found := false
	t.Collect(func() { _, found = d.endings.storedProvider(t, now, stored.Provider) }) // reported below
	if !found || previous.Name.Type != i.Addr.Name.Type {
		opened, ok := d.endings.calls.open(t, i)
		return claim(opened, previous, stored), ok
	}
	o, ok := d.endings.open(t, addr.Object{Instance: previous}, now, i.Frame)
	if ok {
		o.Instance = i
	}
	return o, ok
}

// storedData answers with a data source's stored result, or reads it.
func (d *destroyer) storedData(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	d.endings.record.reads(i.Addr)
	stored := d.endings.prior.Current(i.Addr)
	if stored == nil {
		return d.reads.data(t, i)
	}
	o, ok := d.open(t, i, i.Addr, stored)
	if !ok {
		return cty.DynamicVal, false
	}
	v, err := o.Subject.Decode(stored)
	if err != nil {
		return d.reads.data(t, i)
	}
	return instance.Marked(o.Subject.Schema, v, stored), true
}

// walk evaluates the instances that the state has in the modules that
// the configuration still has; the sweep deals with the others.
func (d *destroyer) walk(t *promise.Task, rt *promise.Runtime, f *eval.Frame) {
	for _, res := range f.Program.Resources {
		if res.Name.Mode != addr.Managed {
			continue
		}
		for _, i := range f.Instances(t, res, nil) {
			if d.endings.selection.destroys(i.Addr) {
				rt.Go(func(t *promise.Task) { i.Value(t, nil) })
			}
		}
	}
	for _, c := range f.Program.AllCalls() {
		for _, child := range f.Calls(t, c, nil) {
			rt.Go(func(t *promise.Task) { d.walk(t, rt, child) })
		}
	}
}
