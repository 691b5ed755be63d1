package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// reads plans the instances of data sources and ephemeral resources: they are read now if
// everything that they need is there, and else in apply.
type reads struct {
	mode       plan.Mode
	prior      *prior.Prior
	calls      *calls
	record     *record
	waits      *waits
	deferral   *deferral
	conditions instance.Conditions
	// upstream is that of the options, which may wait outside of the runtime.
	upstream func(i *eval.Instance, p addr.Provider, config cty.Value) (cty.Value, diag.List)
	rt       *promise.Runtime
}

// A configuredRead is an instance that can be read, unless it has to wait.
type configuredRead struct {
	instance.Opened
	config  resourceconfig.Config
	awaited *plan.Awaited // nil for nothing
}

// configure opens an instance, evaluates its configuration and preconditions, and finds what it
// has to wait for.
func (r *reads) configure(t *promise.Task, i *eval.Instance) (c configuredRead, ok bool) {
	ready := i.DependsOn(t)
	explicit := len(t.Current().Deps())
	c.Opened, ok = r.calls.open(t, i)
	if !ok || !ready {
		return c, false
	}
	t.Amend(r.ofCheck(i), func() { c.config, ok = r.calls.configure(t, &c.Opened) })
	if !ok || !r.conditions.Before(t, i) {
		return c, false
	}
	return c, t.Within(func(t *promise.Task) { c.awaited = r.waits.awaits(t, i, explicit) })
}

// ofCheck makes a failed read in a check block an outcome of the check.
func (r *reads) ofCheck(i *eval.Instance) func(diag.List) diag.List {
	return func(l diag.List) diag.List { return instance.CheckWarnings(r.conditions.Set, i, l) }
}

// later is what is known of the result before the instance is read.
func (c *configuredRead) later() cty.Value {
	block := c.Subject.Schema.Block
	return block.MarkSensitive(resourceconfig.MarkPaths(contract.PlannedDataObject(block, c.config.Value), c.config.Sensitive))
}

// data reads an instance of a data source, or postpones that to apply when
// its configuration isn't known or when something that it depends on is
// about to change.
func (r *reads) data(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	c, ok := r.configure(t, i)
	if !ok {
		return cty.DynamicVal, false
	}
	why, known := r.deferral.ofRead(t, i), c.config.Value.IsWhollyKnown()
	switch {
	case why != "":
		o, change := r.readLater(&c, c.later())
		change.Reason = plan.ReadConfigUnknown
		r.record.postpone(o.decided(nil, r.prior.Current(i.Addr)), change, why)
		return change.After, true
	case known && r.upstream != nil:
		planned, ok := r.planned(t, &c)
		if !ok || planned != cty.NilVal {
			return planned, ok && r.conditions.After(t, i, planned)
		}
	}
	switch {
	case !known || c.awaited != nil:
		o, change := r.readLater(&c, c.later())
		if change.Reason = plan.ReadConfigUnknown; known {
			change.Reason, change.Awaits = plan.ReadDependencyPending, c.awaited
		}
		if r.mode != plan.RefreshOnly { // what isn't known then won't be known later either
			d := o.decided(change, nil)
			d.conditions = true
			r.record.add(d)
		}
		return change.After, r.conditions.After(t, i, change.After)
	}
	v, stored, diags := r.read(&c)
	t.Report(r.ofCheck(i)(diags)...)
	r.recordRead(&c, v, stored)
	if stored == nil {
		return cty.DynamicVal, false
	}
	return v, r.conditions.After(t, i, v)
}

// planned postpones a data source to apply if it reads what another plan of this run is about to
// change. The result is NilVal for one that is read now.
func (r *reads) planned(t *promise.Task, c *configuredRead) (cty.Value, bool) {
	r.rt.Leave()
	v, diags := r.upstream(c.Instance, c.Conn.Addr.Provider, c.config.Value)
	r.rt.Return()
	if !t.Report(r.calls.locate(&c.Opened, diags)...) {
		return cty.DynamicVal, false
	}
	if v == cty.NilVal {
		return cty.NilVal, true
	}
	o, change := r.readLater(c, resourceconfig.MarkPaths(v, c.config.Sensitive))
	change.Reason = plan.ReadDependencyPending
	if r.mode != plan.RefreshOnly {
		d := o.decided(change, nil)
		d.conditions = true
		r.record.add(d)
	}
	return change.After, true
}

// readLater is the change of a data source that is read during apply.
func (r *reads) readLater(c *configuredRead, after cty.Value) (*priorObject, *plan.Change) {
	previous, _ := r.prior.Origin(c.Addr.Instance)
	o := claim(c.Opened, previous, nil)
	return o, &plan.Change{
		Addr: c.Addr, From: o.from, Provider: c.Conn.At(), Action: plan.Read,
		Before: cty.NullVal(c.Subject.Schema.Block.ImpliedType()), After: after,
	}
}

// recordRead records a data source that was read; stored is nil if that failed. One in a check
// block is read in apply too: the check is about how things are then.
func (r *reads) recordRead(c *configuredRead, v cty.Value, stored *state.Object) {
	if c.Instance.Resource.Check != nil && r.mode == plan.Normal {
		if stored == nil {
			v = c.later()
		}
		o, change := r.readLater(c, v)
		change.Reason = plan.ReadCheckNested
		d := o.decided(change, stored)
		d.again = true
		r.record.add(d)
	} else if stored != nil {
		r.record.add(claim(c.Opened, c.Addr.Instance, nil).decided(nil, stored))
	}
}

// read reads a data source now. Without what states have of the result there is an error.
func (r *reads) read(c *configuredRead) (cty.Value, *state.Object, diag.List) {
	r.calls.tell(event.Event{Kind: event.ReadStart, Addr: c.Addr})
	v, diags := c.Conn.ReadOnce(r.calls.ctx, c.Subject, c.config.Value)
	if diags.HasErrors() {
		return cty.NilVal, nil, r.calls.locate(&c.Opened, diags)
	}
	key, id := instance.Identify(v, c.Subject.Schema.Block, c.config.Sensitive)
	r.calls.tell(event.Event{Kind: event.ReadComplete, Addr: c.Addr, IDKey: key, IDValue: id})
	marked, stored, more := instance.DataResult(c.Subject, c.Conn.Addr, c.config, v)
	if diags.Append(more); more.HasErrors() {
		return cty.NilVal, nil, diags
	}
	return marked, stored, r.calls.locate(&c.Opened, diags)
}

// ephemeral opens an instance of an ephemeral resource for the time of
// planning, or leaves its value unknown.
func (r *reads) ephemeral(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	c, ok := r.configure(t, i)
	if !ok {
		return cty.DynamicVal, false
	}
	block := c.Subject.Schema.Block
	unknown := block.MarkSensitive(contract.PlannedDataObject(block, c.config.Value)).Mark(value.Ephemeral)
	if r.deferral.ofRead(t, i) != "" {
		return unknown, true
	}
	d := claim(c.Opened, i.Addr, nil).decided(nil, nil)
	d.conditions = r.mode == plan.Normal && len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	defer func() { r.record.add(d) }()
	if !c.config.Value.IsWhollyKnown() || c.awaited != nil {
		return unknown, true
	}
	r.calls.tell(event.Event{Kind: event.EphemeralStart, Addr: c.Addr, Text: "opening"})
	v, lease, diags := r.calls.pool.OpenEphemeral(i.Addr, c.Conn, c.Subject.Schema, c.config.Value)
	if !t.Report(r.calls.locate(&c.Opened, diags)...) {
		return cty.DynamicVal, false
	}
	r.calls.tell(event.Event{Kind: event.EphemeralComplete, Addr: c.Addr, Text: "opening"})
	r.record.opened(leased{c.Addr, lease})
	ok = r.conditions.After(t, i, v)
	d.conditions = d.conditions && !r.conditions.Set.Known(instance.Checked(i))
	return v, ok
}
