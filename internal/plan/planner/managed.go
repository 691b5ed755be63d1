package planner

import (
	"cmp"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/actions"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// managed plans the instances of managed resources.
type managed struct {
	options    *Options
	prior      *prior.Prior
	calls      *calls
	reader     *reader
	record     *record
	deferral   *deferral
	conditions instance.Conditions
	actions    actions.Actions
	types      value.Types
}

// plan plans an instance and returns what it will be.
func (m *managed) plan(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	previous, stored := m.prior.ClaimFor(i.Addr)
	if !i.DependsOn(t) {
		return cty.DynamicVal, false
	}
	opened, ok := m.calls.open(t, i)
	if !ok {
		return cty.DynamicVal, false
	}
	o, ok := m.reader.read(t, claim(opened, previous, stored))
	if !ok {
		return cty.DynamicVal, false
	}
	if m.options.Mode == plan.RefreshOnly {
		return m.leave(t, o)
	}
	config, ok := m.calls.configure(t, &o.Opened)
	if !ok || !m.conditions.Before(t, i) {
		return cty.DynamicVal, false
	}
	// That something is sensitive is no change of what was just imported.
	if o.importing != nil && len(config.Sensitive) > 0 {
		if o, ok = o.hiding(t, config.Sensitive); !ok {
			return cty.DynamicVal, false
		}
	}
	force, ok := m.forced(t, i)
	if !ok {
		return cty.DynamicVal, false
	}
	p, ok := m.propose(t, o, config, force)
	if !ok {
		return cty.DynamicVal, false
	}
	c := m.changeOf(o, config, p)
	if o.stale && c.Action != plan.NoOp {
		if o, ok = m.reader.reread(t, o); !ok {
			return cty.DynamicVal, false
		}
		if p, ok = m.propose(t, o, config, force); !ok {
			return cty.DynamicVal, false
		}
		c = m.changeOf(o, config, p)
	}
	if !m.options.guard(t, c, i.Resource, i.Frame) {
		return cty.DynamicVal, false
	}
	return m.decide(t, o, c, p)
}

// decide records a change, or postpones it, with what happens around it.
func (m *managed) decide(t *promise.Task, o *refreshedObject, c *plan.Change, p proposal) (cty.Value, bool) {
	i, after := o.Instance, c.After
	runs := actions.Provisioners(t, i, c, after)
	invocations, answer, ok := m.actions.Invocations(t, i, c)
	if !ok || !runs {
		return cty.DynamicVal, false
	}
	if reason := m.deferral.ofChange(t, o, c, cmp.Or(p.Deferred, answer)); reason != "" {
		left := o.decided(nil)
		left.invocations = invocations
		m.record.postpone(left, c, reason)
		return after, true
	}
	d := o.decided(c)
	d.invocations = invocations
	d.conditions = len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	m.record.add(d)
	return after, m.conditions.After(t, i, after)
}

// leave plans an instance in a plan that changes nothing. Its conditions are evaluated
// whatever the others result in.
func (m *managed) leave(t *promise.Task, o *refreshedObject) (cty.Value, bool) {
	i := o.Instance
	if o.importing != nil {
		if hiding, ok := o.hiding(t, resourceconfig.SensitiveArguments(t, i, o.Subject.Schema)); ok {
			o = hiding
		}
	}
	switch {
	case o.now.Exists():
		m.record.add(o.decided(o.noOp()))
	case o.stored != nil:
		m.record.add(o.decided(nil)) // so that it leaves the state
	}
	v := cty.UnknownVal(o.Subject.Schema.Block.ImpliedType())
	if o.now.Exists() {
		v = o.value()
	}
	before := m.conditions.Before(t, i)
	after := m.conditions.After(t, i, v)
	if !o.now.Exists() {
		v = i.Missing(o.Subject.Schema.Block.ImpliedType(), m.prior.Keys.Resource(i.Addr.Resource))
	}
	return v, before && after
}

// noOp is the change of an object with which nothing is done.
func (o *refreshedObject) noOp() *plan.Change {
	v := o.value()
	return &plan.Change{
		Addr: o.Addr, From: o.from, Provider: o.Conn.At(), Action: plan.NoOp,
		Before: v, After: v, BeforeIdentity: o.now.Identity, AfterIdentity: o.now.Identity,
		Private: o.now.Private,
	}
}

// propose asks the provider for a plan.
func (m *managed) propose(t *promise.Task, o *refreshedObject, config resourceconfig.Config, force plan.Reason) (p proposal, ok bool) {
	planned, ok := o.Propose(t, m.calls.ctx, m.calls.ctx, o.now, config.Value, force != plan.NoReason, nil)
	if !ok {
		return p, false
	}
	if planned.Deferred != "" && !m.options.AllowDeferral {
		return p, t.Report(deferralRejected(&o.Opened, planned.Deferred))
	}
	return proposal{planned, force}, true
}

// changeOf makes the change that a proposal results in.
func (m *managed) changeOf(o *refreshedObject, config resourceconfig.Config, p proposal) *plan.Change {
	sch, typ, res := o.Subject.Schema, o.Addr.Name.Type, o.Instance.Resource
	c := &plan.Change{
		Addr: o.Addr, From: o.from, Provider: o.Conn.At(),
		Before:         instance.Marked(sch, m.types.Share(typ, o.now.Value), o.kept),
		After:          sch.Block.MarkSensitive(resourceconfig.MarkPaths(m.types.Share(typ, p.Value), instance.Sensitive(res, o.kept, config))),
		BeforeIdentity: o.now.Identity, AfterIdentity: p.Identity,
		Private: p.Private, Importing: o.importing,
	}
	if c.Importing != nil {
		c.GeneratedConfig = m.options.Generated[o.Addr.Instance]
	}
	if o.now.Tainted && !o.now.Exists() {
		c.BeforeIdentity = cty.NilVal // of what is gone it is kept only if it was sound
	}
	switch p.Change {
	case contract.Create:
		c.Action = plan.Create
	case contract.Update:
		c.Action = plan.Update
	case contract.Replace:
		c.Action, c.Reason, c.ReplacePaths = plan.DeleteThenCreate, p.force, p.ReplacePaths
		switch {
		case o.now.Tainted && p.force == plan.ReplaceTriggered:
			c.ReplacePaths = nil
		case o.now.Tainted:
			c.Reason, c.ReplacePaths = plan.ReplaceTainted, nil
		case len(p.ReplacePaths) > 0 && p.force == plan.NoReason:
			c.Reason = plan.ReplaceCannotUpdate
		}
		if res.SkipDestroy {
			c.Action = plan.ForgetThenCreate
		}
	case contract.None:
		if o.kept != nil && !instance.SamePaths(instance.Shown(sch.Block, c.Before), instance.Shown(sch.Block, c.After)) {
			c.Action = plan.Update
		} else if o.kept != nil && p.Deferred == "" || c.After.RawEquals(c.Before) {
			c.After = c.Before // one copy is enough to keep
		}
	}
	return c
}

// forced says whether something beside the provider wants the object
// replaced; triggers come before -replace. All of them are read, whatever the answer: the
// object depends on each.
func (m *managed) forced(t *promise.Task, i *eval.Instance) (reason plan.Reason, ok bool) {
	reason, ok = plan.NoReason, true
	if slices.Contains(m.options.Replace, i.Addr) {
		reason = plan.ReplaceRequested
	}
	for _, ref := range i.Resource.ReplaceTriggeredBy {
		referents, fine := i.Frame.Referents(t, ref, i.Context(t, cty.NilVal))
		ok = ok && fine
		for _, referent := range referents {
			if other := m.record.find(referent); other != nil && actions.Replaces(other.change, ref, !m.options.CreationsDontTrigger) {
				reason = plan.ReplaceTriggered
			}
		}
	}
	return reason, ok
}

// guard checks prevent_destroy: its value in any case, and that it doesn't hold
// for an object of the resource that is to be destroyed.
func (o *Options) guard(t *promise.Task, c *plan.Change, res *program.Resource, f *eval.Frame) (ok bool) {
	if o.Unprotected {
		return true
	}
	v, ok := instance.PreventDestroy(t, res, f)
	if !ok || v == cty.NilVal {
		return ok
	}
	if a := c.Action; a != plan.Delete && a != plan.DeleteThenCreate && a != plan.CreateThenDelete {
		return true
	}
	wrong := instance.UnsuitableDecision("prevent_destroy")
	switch {
	case !v.IsKnown():
		return t.Report(wrong.Error(res.PreventDestroy.Range(), "%s is to be destroyed, and whether its prevent_destroy argument allows that will be known only after apply. Leave it out for now with -exclude=%s.", c.Addr, addr.Quote(c.Addr.Resource.String())))
	case v.IsNull():
		return t.Report(wrong.Error(res.PreventDestroy.Range(), "%s is to be destroyed, and its prevent_destroy argument is null. Where destruction is allowed it has to be false.", c.Addr))
	case v.True():
		return t.Report(DestroyRefused.Error(res.Range, "Resource %s has lifecycle.prevent_destroy set, but the plan calls for this resource to be destroyed. To avoid this error and continue with the plan, either disable lifecycle.prevent_destroy or reduce the scope of the plan using the -target option.", c.Addr))
	}
	return true
}
