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
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// data reads an instance of a data source, or postpones that to apply when
// its configuration isn't known or when something that it depends on is
// about to change.
func (r *run) data(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	ready := i.DependsOn(t)
	explicit := len(t.Current().Deps())
	o, ok := r.open(t, i)
	if !ok || !ready {
		return cty.DynamicVal, false
	}
	// In a check block, a failed read is an outcome of the check.
	ofCheck := func(l diag.List) diag.List { return instance.CheckWarnings(r.checks, i, l) }
	var config resourceconfig.Config
	t.Amend(ofCheck, func() { config, ok = r.config(t, o) })
	if !ok || !r.conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed") {
		return cty.DynamicVal, false
	}
	var awaited *plan.Awaited
	if !t.Within(func(t *promise.Task) { awaited = r.awaits(t, i, explicit) }) {
		return cty.DynamicVal, false
	}
	if why := r.deferral(t, i, o, ""); why != "" {
		return r.deferData(o, config, why), true
	}
	reason := plan.NoReason
	switch {
	case !config.Value.IsWhollyKnown():
		reason, awaited = plan.ReadConfigUnknown, nil
	case awaited != nil:
		reason = plan.ReadDependencyPending
	}
	if reason != plan.NoReason {
		v := r.postpone(o, config, reason, awaited)
		return v, r.conditions(t, i, i.Resource.Postconditions, v, "Resource postcondition failed")
	}
	v, diags := r.readData(o, config)
	t.Report(ofCheck(diags)...)
	failed := v == cty.NilVal
	if i.Resource.Check != nil && r.Mode == plan.Normal {
		r.readAgain(o, config, v, failed)
	}
	if failed {
		return cty.DynamicVal, false
	}
	return v, r.conditions(t, i, i.Resource.Postconditions, v, "Resource postcondition failed")
}

// postpone records that a data source is read during apply, and what it waits for.
func (r *run) postpone(o *object, config resourceconfig.Config, reason plan.Reason, awaited *plan.Awaited) cty.Value {
	b := o.subject.Schema.Block
	after := b.MarkSensitive(resourceconfig.MarkPaths(contract.PlannedDataObject(b, config.Value), config.Sensitive))
	previous, _ := r.prior.Origin(o.addr.Instance)
	o.wasAt(previous)
	o.change = &plan.Change{
		Addr: *o.addr, From: o.from, Provider: o.conn.At(), Action: plan.Read, Reason: reason, Awaits: awaited,
		Before: cty.NullVal(b.ImpliedType()), After: after,
	}
	o.conditions = true
	if r.Mode != plan.RefreshOnly { // what isn't known then won't be known later either
		r.record(o)
	}
	return after
}

// readAgain records that a data source of a check block is read in apply too:
// the check is about how things are then.
func (r *run) readAgain(o *object, config resourceconfig.Config, now cty.Value, failed bool) {
	b := o.subject.Schema.Block
	if failed {
		now = b.MarkSensitive(resourceconfig.MarkPaths(contract.PlannedDataObject(b, config.Value), config.Sensitive))
	}
	previous, _ := r.prior.Origin(o.addr.Instance)
	o.wasAt(previous)
	o.change = &plan.Change{
		Addr: *o.addr, From: o.from, Provider: o.conn.At(), Action: plan.Read, Reason: plan.ReadCheckNested,
		Before: cty.NullVal(b.ImpliedType()), After: now,
	}
	o.again = true
	r.record(o)
}

// readData reads a data source now and keeps the result for the state. The result is NilVal
// beside an error.
func (r *run) readData(o *object, config resourceconfig.Config) (cty.Value, diag.List) {
	r.tell(event.Event{Kind: event.ReadStart, Addr: *o.addr})
	v, diags := o.conn.ReadOnce(r.ctx, o.subject, config.Value)
	if diags.HasErrors() {
		return cty.NilVal, r.locate(o, diags)
	}
	key, id := instance.Identify(v, o.subject.Schema.Block, config.Sensitive)
	r.tell(event.Event{Kind: event.ReadComplete, Addr: *o.addr, IDKey: key, IDValue: id})
	marked, stored, more := instance.DataResult(o.subject, o.conn.Addr, config, v)
	if diags.Append(more); more.HasErrors() {
		return cty.NilVal, diags
	}
	o.stored = stored
	r.record(o)
	return marked, r.locate(o, diags)
}

// ephemeral opens an instance of an ephemeral resource for the time of
// planning, or leaves its value unknown.
func (r *run) ephemeral(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	ready := i.DependsOn(t)
	explicit := len(t.Current().Deps())
	o, ok := r.open(t, i)
	if !ok || !ready {
		return cty.DynamicVal, false
	}
	config, ok := r.config(t, o)
	if !ok {
		return cty.DynamicVal, false
	}
	holds := r.conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed")
	var awaited *plan.Awaited
	if !t.Within(func(t *promise.Task) { awaited = r.awaits(t, i, explicit) }) || !holds {
		return cty.DynamicVal, false
	}
	block := o.subject.Schema.Block
	unknown := block.MarkSensitive(contract.PlannedDataObject(block, config.Value)).Mark(value.Ephemeral)
	if r.deferral(t, i, o, "") != "" {
		return unknown, true
	}
	o.conditions = r.Mode == plan.Normal && len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	r.record(o)
	if !config.Value.IsWhollyKnown() || awaited != nil {
		return unknown, true
	}
	r.tell(event.Event{Kind: event.EphemeralStart, Addr: *o.addr, Text: "opening"})
	v, lease, diags := r.pool.OpenEphemeral(i.Addr, o.conn, o.subject.Schema, config.Value)
	if !t.Report(r.locate(o, diags)...) {
		return cty.DynamicVal, false
	}
	r.tell(event.Event{Kind: event.EphemeralComplete, Addr: *o.addr, Text: "opening"})
	r.mu.Lock()
	r.leases = append(r.leases, leased{*o.addr, lease})
	r.mu.Unlock()
	ok = r.conditions(t, i, i.Resource.Postconditions, v, "Resource postcondition failed")
	o.conditions = o.conditions && !r.checks.Known(instance.Checked(i))
	return v, ok
}

// A leased is an ephemeral resource instance that planning has opened.
type leased struct {
	addr  addr.Object
	lease *providerclient.Lease
}

// closeLeases closes what planning has opened, the last first.
func (r *run) closeLeases() {
	for n := len(r.leases) - 1; n >= 0; n-- {
		l := r.leases[n]
		r.tell(event.Event{Kind: event.EphemeralStart, Addr: l.addr, Text: "closing"})
		r.note(l.lease.Close())
		r.tell(event.Event{Kind: event.EphemeralComplete, Addr: l.addr, Text: "closing"})
	}
}
