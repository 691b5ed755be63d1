package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/actions"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// managed plans an instance of a managed resource and returns what it will
// be.
func (r *run) managed(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	previous, stored := r.prior.ClaimFor(i.Addr)
	if !i.DependsOn(t) {
		return cty.DynamicVal, false
	}
	o, ok := r.open(t, i)
	if !ok {
		return cty.DynamicVal, false
	}
	defer o.settle()
	o.wasAt(previous)
	o.stored = stored
	if !r.readPrior(t, o) {
		return cty.DynamicVal, false
	}
	if r.Mode == plan.RefreshOnly {
		return r.refreshed(t, o, stored)
	}
	config, ok := r.config(t, o)
	if !ok || !r.conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed") {
		return cty.DynamicVal, false
	}
	// That something is sensitive is no change of what was just imported.
	if importingOf(r, o) != nil && len(config.Sensitive) > 0 && !t.Report(r.keep(o, config.Sensitive)...) {
		return cty.DynamicVal, false
	}
	if !r.planChange(t, o, config) {
		return cty.DynamicVal, false
	}
	after := o.change.After
	runs := actions.Provisioners(t, i, o.change, after)
	if !r.triggered(t, o, i) || !runs {
		return cty.DynamicVal, false
	}
	if reason := r.deferral(t, i, o, o.deferred); reason != "" {
		r.postponeChange(o, reason)
		return after, true
	}
	o.conditions = len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	r.record(o)
	return after, r.conditions(t, i, i.Resource.Postconditions, after, "Resource postcondition failed")
}

// refreshed is an instance in a plan that changes nothing. Its conditions are evaluated
// whatever the others result in.
func (r *run) refreshed(t *promise.Task, o *object, stored *state.Object) (cty.Value, bool) {
	i := o.instance
	if importingOf(r, o) != nil {
		t.Report(r.keep(o, resourceconfig.SensitiveArguments(t, i, o.subject.Schema))...)
	}
	if stored != nil && !o.before.Exists() {
		r.record(o) // so that it leaves the state
	} else {
		r.recordNoOp(o)
	}
	before := r.conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed")
	after := r.conditions(t, i, i.Resource.Postconditions, asItIs(o), "Resource postcondition failed")
	if !o.before.Exists() {
		return i.Missing(o.subject.Schema.Block.ImpliedType(), r.prior.Keys.Resource(i.Addr.Resource)), before && after
	}
	return asItIs(o), before && after
}

// asItIs is what others see of an object that the plan leaves only: unknown while none exists.
func asItIs(o *object) cty.Value {
	if !o.before.Exists() {
		return cty.UnknownVal(o.subject.Schema.Block.ImpliedType())
	}
	return instance.Marked(o.subject.Schema, o.before.Value, o.stored)
}

// open finds the provider and the schema of an instance.
func (r *run) open(t *promise.Task, i *eval.Instance) (*object, bool) {
	pi, ok := i.Provider(t)
	if !ok {
		return nil, false
	}
	conn := r.pool.Open(t, pi)
	if conn == nil {
		return nil, false
	}
	sch := conn.Schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		return nil, t.Report(resourceconfig.Unsupported(i.Resource.TypeRange, pi.Addr.Provider, i.Addr.Name, conn.Schemas)...)
	}
	subject, ok := instance.Subject(t, i.Addr, conn, sch, i.Frame)
	return newObject(addr.Object{Instance: i.Addr}, i, conn, subject), ok
}

// readPrior upgrades and refreshes the object's prior form, or imports it. Anything that is
// stored of it is then what the provider said, whatever else changes.
func (r *run) readPrior(t *promise.Task, o *object) (ok bool) {
	if o.stored == nil {
		return r.importPrior(t, o)
	}
	var diags diag.List
	if r.takesOver(o) {
		o.before, diags = r.moveType(o)
	} else {
		r.pool.Call(func() { o.before, diags = o.subject.Upgrade(r.ctx, o.stored) })
	}
	if diags.HasErrors() {
		return t.Report(r.locate(o, diags)...)
	}
	t.Report(diags...)
	r.Facts.Secrets.AddMarked(instance.Marked(o.subject.Schema, o.before.Value, o.stored))
	// Anything that is upgraded or taken over is inspected in any case.
	same := o.instance == nil || o.stored.SchemaVersion == o.subject.Schema.Version && !r.takesOver(o)
	o.stale = same && !r.SkipRefresh && r.Looks.Leaves(*o.addr, o.subject, o.before, o.conn, isWanted(r, o))
	if !r.SkipRefresh && !o.stale {
		return r.look(t, o)
	}
	metrics.Unread.Add(1)
	return t.Report(r.keep(o, nil)...)
}

// isWanted reports whether an object must be read even if it was read recently: it ends, has moved,
// is in doubt, or is a target. An old value would be wrong or useless in these cases.
func isWanted(r *run, o *object) bool {
	return o.instance == nil || o.from != nil || r.Mode == plan.Destroy ||
		slices.Contains(r.InDoubt, o.addr.Instance) || len(r.Targets) > 0 && r.scope.Wants(o.addr.Instance)
}

// look replaces the prior form of an object by the real object. A missing object leaves the state.
func (r *run) look(t *promise.Task, o *object) (ok bool) {
	if !r.refresh(t, o) {
		return false
	}
	r.Looks.Looked(*o.addr, o.subject, o.before, o.conn)
	if !o.before.Exists() {
		o.stored = nil
		return true
	}
	return t.Report(r.keep(o, nil)...)
}

// keep stores an object with its values before the plan. Its sensitive paths are the stored ones,
// those of the schema, and the given ones: losing one would print a secret in a later plan.
func (r *run) keep(o *object, sensitive []cty.Path) diag.List {
	var diags diag.List
	marked := instance.Marked(o.subject.Schema, resourceconfig.MarkPaths(o.before.Value, sensitive), o.stored)
	at := o.stored.Provider // until something is done with the object
	if at.Provider != o.conn.Addr.Provider {
		at = o.conn.Addr
	}
	kept, err := o.subject.Keep(o.stored, o.before, at, resourceconfig.SensitivePaths(marked))
	if err != nil {
		diags.Add(diag.Bug.As("Failed to encode an object").New(diag.Error, "%s", err))
		return diags
	}
	o.stored = kept
	return diags
}

// takesOver reports whether the object was one of another type, or of another
// resource with another provider. A provider that only has another address now
// knows its own objects.
func (r *run) takesOver(o *object) bool {
	return o.previous().Name.Type != o.addr.Name.Type ||
		o.stored.Provider.Provider != o.conn.Addr.Provider && o.previous().Resource.Erase() != o.addr.Resource.Erase()
}

// refresh replaces the prior form of an object by the present one and notes
// the difference.
func (r *run) refresh(t *promise.Task, o *object) (ok bool) {
	idKey, id := instance.Identify(o.before.Value, o.subject.Schema.Block, o.stored.Sensitive)
	e := event.Event{Kind: event.RefreshStart, Addr: *o.addr, IDKey: idKey, IDValue: id}
	r.tell(e)
	old := o.before
	var diags diag.List
	if !r.lists.Unchanged(t, o.conn, o.subject, old) {
		o.conn.AskOf(t, r.ctx, providerclient.Read, o.subject, func(s lifecycle.Subject) diag.List { o.before, _, diags = s.Refresh(r.ctx, old); return diags })
	}
	e.Kind = event.RefreshComplete
	if v := o.before.Value; v == cty.NilVal || v.IsNull() { // it is gone
		e.IDKey, e.IDValue = "", ""
	}
	r.tell(e)
	if diags.HasErrors() {
		o.before = old
		return t.Report(r.locate(o, diags)...)
	}
	t.Report(diags...)
	same := o.before.Value.RawEquals(old.Value)
	if same && o.from == nil || o.previous().Name.Type != o.addr.Name.Type {
		return true
	}
	if r.Mode == plan.Destroy || o.addr.Deposed != "" { // it goes, however it looks by now
		return true
	}
	c := &plan.Change{
		Addr: *o.addr, From: o.from, Provider: &o.stored.Provider, Action: plan.Update,
		Before:         instance.Marked(o.subject.Schema, old.Value, o.stored),
		After:          instance.Marked(o.subject.Schema, o.before.Value, o.stored),
		BeforeIdentity: old.Identity, AfterIdentity: o.before.Identity,
	}
	switch {
	case !o.before.Exists():
		c.Action, c.AfterIdentity = plan.Delete, cty.NilVal
	case same:
		c.Action = plan.NoOp // it has another address
	}
	r.mu.Lock()
	r.drift = append(r.drift, c)
	r.mu.Unlock()
	return true
}

// locate puts a provider's problems where the configuration is: that of the
// instance, or of the resource which has others.
func (r *run) locate(o *object, diags diag.List) diag.List {
	if o.instance != nil {
		return providerclient.Locate(diags, o.instance.Resource.Config, o.addr.Instance.String())
	}
	if t := r.Tree.At(o.addr.Module); t != nil && len(diags) > 0 && o.addr.Deposed == "" {
		if res := t.Program.ResourceByName[o.addr.Name]; res != nil {
			return providerclient.Locate(diags, res.Config, o.addr.Instance.String())
		}
	}
	return diags.InAddress(o.addr.String())
}

// config evaluates the configuration of an instance.
func (r *run) config(t *promise.Task, o *object) (resourceconfig.Config, bool) {
	i := o.instance
	c, ok := resourceconfig.Configure(t, i, o.subject.Schema)
	if !ok {
		return c, false
	}
	var diags diag.List
	r.pool.Call(func() {
		diags = o.conn.ValidateResource(r.ctx, i.Addr.Name.Mode, i.Addr.Name.Type, c.Value)
	})
	return c, t.Report(r.locate(o, diags)...)
}

// planChange asks the provider for a plan and makes the change of it.
func (r *run) planChange(t *promise.Task, o *object, config resourceconfig.Config) (ok bool) {
	res := o.instance.Resource
	force, ok := r.forced(t, o)
	if !ok {
		return false
	}
	var p lifecycle.Planned
	var diags diag.List
	o.conn.AskOf(t, r.ctx, providerclient.Plan, o.subject, func(s lifecycle.Subject) diag.List {
		p, diags = s.Plan(r.ctx, lifecycle.PlanInput{
			Prior: o.before, Config: config.Value, Ignore: program.Paths(res.IgnoreChanges), IgnoreAll: res.IgnoreAll, Force: force != plan.NoReason,
		})
		return diags
	})
	if !t.Report(r.locate(o, diags)...) {
		return false
	}
	if p.Deferred != "" && !r.AllowDeferral {
		return t.Report(deferralRejected(o, p.Deferred))
	}
	o.deferred = p.Deferred
	o.change = r.changeOf(o, config, p, force)
	if o.stale && o.change.Action != plan.NoOp {
		o.stale = false
		metrics.Unread.Add(-1)
		return r.look(t, o) && r.planChange(t, o, config)
	}
	return r.guard(t, o, o.instance.Resource, o.instance.Frame)
}

// changeOf makes the change that a provider's plan results in.
func (r *run) changeOf(o *object, config resourceconfig.Config, p lifecycle.Planned, force plan.Reason) *plan.Change {
	sch, typ := o.subject.Schema, o.addr.Name.Type
	o.before.Value = r.types.Share(typ, o.before.Value)
	c := &plan.Change{
		Addr: *o.addr, From: o.from, Provider: o.conn.At(),
		Before: instance.Marked(sch, o.before.Value, o.stored), After: sch.Block.MarkSensitive(resourceconfig.MarkPaths(r.types.Share(typ, p.Value), instance.Sensitive(o.instance.Resource, o.stored, config))),
		BeforeIdentity: o.before.Identity, AfterIdentity: p.Identity,
		Private: p.Private, Importing: importingOf(r, o),
	}
	if c.Importing != nil {
		c.GeneratedConfig = r.Generated[o.addr.Instance]
	}
	if o.before.Tainted && !o.before.Exists() {
		c.BeforeIdentity = cty.NilVal // of what is gone it is kept only if it was sound
	}
	switch p.Change {
	case contract.Create:
		c.Action = plan.Create
	case contract.Update:
		c.Action = plan.Update
	case contract.Replace:
		c.Action, c.Reason, c.ReplacePaths = plan.DeleteThenCreate, force, p.ReplacePaths
		switch {
		case o.before.Tainted && force == plan.ReplaceTriggered:
			c.ReplacePaths = nil
		case o.before.Tainted:
			c.Reason, c.ReplacePaths = plan.ReplaceTainted, nil
		case len(p.ReplacePaths) > 0 && force == plan.NoReason:
			c.Reason = plan.ReplaceCannotUpdate
		}
		if o.instance.Resource.SkipDestroy {
			c.Action = plan.ForgetThenCreate
		}
	case contract.None:
		if o.stored != nil && !instance.SamePaths(instance.Shown(sch.Block, c.Before), instance.Shown(sch.Block, c.After)) {
			c.Action = plan.Update
		} else if o.stored != nil && p.Deferred == "" || c.After.RawEquals(c.Before) {
			c.After = c.Before // one copy is enough to keep
		}
	}
	return c
}

// forced says whether something beside the provider wants the object
// replaced; triggers come before -replace. All of them are read, whatever the answer: the
// object depends on each.
func (r *run) forced(t *promise.Task, o *object) (reason plan.Reason, ok bool) {
	reason, ok = plan.NoReason, true
	if slices.Contains(r.Replace, o.addr.Instance) {
		reason = plan.ReplaceRequested
	}
	for _, ref := range o.instance.Resource.ReplaceTriggeredBy {
		referents, fine := o.instance.Frame.Referents(t, ref, o.instance.Context(t, cty.NilVal))
		ok = ok && fine
		for _, referent := range referents {
			if other := r.find(referent); other != nil && actions.Replaces(other.change, ref, !r.CreationsDontTrigger) {
				reason = plan.ReplaceTriggered
			}
		}
	}
	return reason, ok
}

// guard checks prevent_destroy: its value in any case, and that it doesn't hold
// for an object of the resource that is to be destroyed.
func (r *run) guard(t *promise.Task, o *object, res *program.Resource, f *eval.Frame) (ok bool) {
	if r.Unprotected {
		return true
	}
	v, ok := instance.PreventDestroy(t, res, f)
	if !ok || v == cty.NilVal {
		return ok
	}
	if a := o.change.Action; a != plan.Delete && a != plan.DeleteThenCreate && a != plan.CreateThenDelete {
		return true
	}
	wrong := instance.UnsuitableDecision("prevent_destroy")
	switch {
	case !v.IsKnown():
		return t.Report(wrong.Error(res.PreventDestroy.Range(), "%s is to be destroyed, and whether its prevent_destroy argument allows that will be known only after apply. Leave it out for now with -exclude=%s.", o.addr, addr.Quote(o.addr.Resource.String())))
	case v.IsNull():
		return t.Report(wrong.Error(res.PreventDestroy.Range(), "%s is to be destroyed, and its prevent_destroy argument is null. Where destruction is allowed it has to be false.", o.addr))
	case v.True():
		return t.Report(DestroyRefused.Error(res.Range, "Resource %s has lifecycle.prevent_destroy set, but the plan calls for this resource to be destroyed. To avoid this error and continue with the plan, either disable lifecycle.prevent_destroy or reduce the scope of the plan using the -target option.", o.addr))
	}
	return true
}

// recordNoOp records that nothing is to be done with an object.
func (r *run) recordNoOp(o *object) {
	if o.stored == nil && !o.before.Exists() {
		return // there is nothing to leave alone
	}
	before := instance.Marked(o.subject.Schema, o.before.Value, o.stored)
	o.change = &plan.Change{
		Addr: *o.addr, From: o.from, Provider: o.conn.At(), Action: plan.NoOp,
		Before: before, After: before, BeforeIdentity: o.before.Identity, AfterIdentity: o.before.Identity,
		Private: o.before.Private,
	}
	r.record(o)
}

// conditions evaluates the pre- or postconditions of an instance. Plans that
// change nothing, and those that destroy, only warn.
func (r *run) conditions(t *promise.Task, i *eval.Instance, list []*program.Condition, self cty.Value, summary string) (ok bool) {
	severity := diag.Error
	if r.Mode != plan.Normal {
		severity = diag.Warning
	}
	return instance.Conditions(t, i, list, self, summary, severity, r.checks)
}
