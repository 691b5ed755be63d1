package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/conform"
	"weir.dev/weir/internal/connect"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/event"
	"weir.dev/weir/internal/instance"
	"weir.dev/weir/internal/lifecycle"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/provisioner"
	"weir.dev/weir/internal/schema"
)

// managed plans an instance of a managed resource and returns what it will
// be.
func (r *run) managed(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	previous, stored := r.claimFor(i)
	i.DependsOn(t)
	if t.Current().Failed() {
		return cty.DynamicVal, nil
	}
	o, diags := r.open(t, i)
	if o == nil {
		t.Fail()
		return cty.DynamicVal, diags
	}
	o.previous, o.stored = previous, stored
	if len(r.Excludes) > 0 {
		// What the configuration refers to says whether the object is left out,
		// and then its provider isn't asked about it.
		var out bool
		if out, diags = r.excludes(t, o); diags.HasErrors() || t.Current().Failed() || out {
			return asItIs(o), diags
		}
	}
	diags.Append(r.readPrior(t, o))
	if diags.HasErrors() || t.Current().Failed() {
		return cty.DynamicVal, diags
	}
	if r.Mode == plan.RefreshOnly {
		if stored != nil && !o.before.Exists() {
			r.record(o) // so that it leaves the state
		} else {
			r.recordNoOp(o)
		}
		diags.Append(r.conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed"))
		diags.Append(r.conditions(t, i, i.Resource.Postconditions, asItIs(o), "Resource postcondition failed"))
		return asItIs(o), diags
	}
	config, more := r.config(t, o)
	diags.Append(more)
	if diags.HasErrors() || t.Current().Failed() {
		return cty.DynamicVal, diags
	}
	diags.Append(r.conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed"))
	if diags.HasErrors() || t.Current().Failed() {
		return cty.DynamicVal, diags
	}
	diags.Append(r.planChange(t, o, config))
	if diags.HasErrors() || t.Current().Failed() {
		return cty.DynamicVal, diags
	}
	after := o.change.After
	diags.Append(r.provisioners(t, o, after))
	if reason := r.deferral(t, i, o, o.deferred); reason != "" {
		r.postponeChange(o, reason)
		return after, diags
	}
	o.conditions = len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	r.record(o)
	diags.Append(r.conditions(t, i, i.Resource.Postconditions, after, "Resource postcondition failed"))
	return after, diags
}

// excludes reports whether -exclude leaves the object as it is, and records
// it then.
func (r *run) excludes(t *promise.Task, o *object) (bool, diag.List) {
	var diags diag.List
	if r.Mode != plan.RefreshOnly {
		if _, diags = instance.Configure(t, o.instance, o.subject.Schema); diags.HasErrors() || t.Current().Failed() {
			return false, diags
		}
	}
	if o.leftOut = r.leftOut(t, o.instance); o.leftOut {
		if diags = r.readPrior(t, o); !diags.HasErrors() {
			r.recordNoOp(o)
		}
	}
	return o.leftOut, diags
}

// asItIs is what others see of an object that the plan leaves alone: unknown
// while there is none.
func asItIs(o *object) cty.Value {
	if !o.before.Exists() {
		return cty.UnknownVal(o.subject.Schema.Block.ImpliedType())
	}
	return instance.Marked(o.subject.Schema, o.before.Value, o.stored)
}

// open finds the provider and the schema of an instance. After a problem the
// object is nil.
func (r *run) open(t *promise.Task, i *eval.Instance) (*object, diag.List) {
	pi, diags := i.Provider(t)
	if pi == nil {
		return nil, diags
	}
	conn := r.pool.Open(t, pi)
	if conn == nil {
		return nil, diags
	}
	sch := conn.Schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		diags.ErrorAt(i.Resource.Range, instance.UnsupportedSummary(i.Addr.Name.Mode), "The provider %s does not support %s type %q.", pi.Addr.Provider.ForDisplay(), instance.KindText(i.Addr.Name.Mode), i.Addr.Name.Type)
		return nil, diags
	}
	subject, more := instance.Subject(t, i.Addr, conn, sch, i.Frame)
	diags.Append(more)
	return &object{addr: addr.Object{Instance: i.Addr}, previous: i.Addr, instance: i, conn: conn, subject: subject, before: subject.None()}, diags
}

// readPrior upgrades and refreshes the object's prior form, or imports it.
func (r *run) readPrior(t *promise.Task, o *object) diag.List {
	switch {
	case o.stored == nil && o.leftOut:
		return nil
	case o.stored == nil:
		return r.importPrior(t, o)
	}
	var diags diag.List
	if o.stored.Provider.Provider != o.conn.Addr.Provider || o.previous.Name.Type != o.addr.Name.Type {
		o.before, diags = r.moveType(o)
	} else {
		r.pool.Call(func() { o.before, diags = o.subject.Upgrade(r.ctx, o.stored) })
	}
	if diags.HasErrors() {
		return r.locate(o, diags)
	}
	if r.SkipRefresh || o.leftOut {
		return diags
	}
	return append(diags, r.refresh(o)...)
}

// refresh replaces the prior form of an object by the present one and notes
// the difference.
func (r *run) refresh(o *object) diag.List {
	idKey, id := instance.Identify(o.before.Value)
	e := event.Event{Kind: event.RefreshStart, Addr: o.addr, IDKey: idKey, IDValue: id}
	r.tell(e)
	old := o.before
	var diags diag.List
	r.pool.Call(func() { o.before, _, diags = o.subject.Refresh(r.ctx, old) })
	e.Kind = event.RefreshComplete
	r.tell(e)
	if diags.HasErrors() {
		o.before = old
		return r.locate(o, diags)
	}
	if o.before.Exists() && o.before.Value.RawEquals(old.Value) && string(o.before.Private) == string(old.Private) {
		return diags
	}
	c := &plan.Change{
		Addr: o.addr, Previous: o.previous, Provider: o.stored.Provider, Action: plan.Update,
		Before: instance.Marked(o.subject.Schema, old.Value, o.stored),
		After:  instance.Marked(o.subject.Schema, o.before.Value, o.stored),
	}
	if !o.before.Exists() {
		c.Action = plan.Delete
	}
	changed := !o.before.Value.RawEquals(old.Value)
	if o.before.Exists() {
		fresh, err := o.subject.Store(o.before, o.stored.Provider, o.stored.Sensitive)
		if err != nil {
			diags.Errorf("Failed to encode a refreshed object", "%s", err)
			return diags
		}
		fresh.Dependencies, fresh.CreateBeforeDestroy, fresh.SkipDestroy = o.stored.Dependencies, o.stored.CreateBeforeDestroy, o.stored.SkipDestroy
		o.stored = fresh
	} else {
		o.stored = nil
	}
	if changed && o.previous.Name.Type == o.addr.Name.Type {
		r.mu.Lock()
		r.drift = append(r.drift, c)
		r.mu.Unlock()
	}
	return diags
}

// locate puts a provider's problems where the configuration is.
func (r *run) locate(o *object, diags diag.List) diag.List {
	if o.instance == nil {
		return diags.InAddress(o.addr.String())
	}
	return connect.Locate(diags, o.instance.Resource.Config, o.addr.Instance.String())
}

// config evaluates the configuration of an instance.
func (r *run) config(t *promise.Task, o *object) (instance.Config, diag.List) {
	i := o.instance
	c, diags := instance.Configure(t, i, o.subject.Schema)
	if diags.HasErrors() || t.Current().Failed() {
		return c, diags
	}
	var more diag.List
	r.pool.Call(func() {
		more = o.conn.ValidateResource(r.ctx, i.Addr.Name.Mode, i.Addr.Name.Type, c.Value)
	})
	diags.Append(r.locate(o, more))
	return c, diags
}

// provisioners evaluates what creation-time provisioners refer to, which has
// to be there before the object is made.
func (r *run) provisioners(t *promise.Task, o *object, self cty.Value) diag.List {
	var diags diag.List
	for _, p := range o.instance.Resource.Provisioners {
		kind := provisioner.Find(p.Type)
		if p.OnDestroy || kind == nil {
			continue
		}
		ctx := o.instance.Context(t, self)
		_, hd := kind.Schema().Decode(p.Config.Body, ctx)
		diags.Append(eval.Diagnostics(hd))
		eval.Complete(t, p.Config.Refs, ctx)
	}
	return diags
}

// planChange asks the provider for a plan and makes the change of it.
func (r *run) planChange(t *promise.Task, o *object, config instance.Config) diag.List {
	res := o.instance.Resource
	force, diags := r.forced(t, o)
	if t.Current().Failed() {
		return diags
	}
	var p lifecycle.Planned
	var more diag.List
	ignore := instance.Paths(res.IgnoreChanges)
	r.pool.Call(func() {
		p, more = o.subject.Plan(r.ctx, lifecycle.PlanInput{
			Prior: o.before, Config: config.Value, Ignore: ignore, IgnoreAll: res.IgnoreAll, Force: force != plan.NoReason,
		})
	})
	diags.Append(r.locate(o, more))
	if more.HasErrors() {
		return diags
	}
	if p.Deferred != "" && !r.AllowDeferral {
		return append(diags, refuseDeferral(o, p.Deferred)...)
	}
	o.deferred = p.Deferred
	o.change = r.changeOf(o, config, p, force)
	if o.change.Action.IsReplace() {
		diags.Append(r.guard(t, o, o.instance.Resource, o.instance.Frame))
	}
	return diags
}

// changeOf makes the change that a provider's plan comes to.
func (r *run) changeOf(o *object, config instance.Config, p lifecycle.Planned, force plan.Reason) *plan.Change {
	sch := o.subject.Schema
	sensitive := config.Sensitive
	if o.stored != nil && len(sensitive) > 0 && len(o.instance.Resource.IgnoreChanges) > 0 {
		sensitive = append(sensitive[:len(sensitive):len(sensitive)], o.stored.Sensitive...)
	}
	c := &plan.Change{
		Addr: o.addr, Previous: o.previous, Provider: o.conn.Addr,
		Before: instance.Marked(sch, o.before.Value, o.stored), After: sch.Block.MarkSensitive(instance.MarkPaths(p.Value, sensitive)),
		BeforeIdentity: o.before.Identity, AfterIdentity: p.Identity,
		Private: p.Private, Importing: importingOf(r, o),
	}
	if c.Importing != nil {
		c.GeneratedConfig = r.Generated[o.addr.Instance]
	}
	switch p.Change {
	case conform.Create:
		c.Action = plan.Create
	case conform.Update:
		c.Action = plan.Update
	case conform.Replace:
		c.Action, c.Reason, c.ReplacePaths = plan.DeleteThenCreate, force, p.ReplacePaths
		switch {
		case o.before.Tainted:
			c.Reason, c.ReplacePaths = plan.ReplaceTainted, nil
		case len(p.ReplacePaths) > 0 && force == plan.NoReason:
			c.Reason = plan.ReplaceCannotUpdate
		}
		if o.instance.Resource.SkipDestroy {
			c.Action = plan.ForgetThenCreate
		}
	case conform.None:
		if o.stored != nil && !instance.SamePaths(shown(sch.Block, c.Before), shown(sch.Block, c.After)) {
			c.Action = plan.Update
		} else if o.stored != nil && p.Deferred == "" || c.After.RawEquals(c.Before) {
			c.After = c.Before // one copy is enough to keep
		}
	}
	return c
}

// shown lists what is sensitive of an object. What is write-only isn't shown
// anyhow, whether it is sensitive or not.
func shown(b *schema.Block, v cty.Value) []cty.Path {
	return slices.DeleteFunc(instance.SensitivePaths(v), func(p cty.Path) bool {
		a := conform.AttributeAt(b, p)
		return a != nil && a.WriteOnly
	})
}

// forced says whether something beside the provider wants the object
// replaced. All triggers are read, whatever the answer: the object depends on
// each of them.
func (r *run) forced(t *promise.Task, o *object) (plan.Reason, diag.List) {
	reason := plan.NoReason
	var diags diag.List
	for _, ref := range o.instance.Resource.ReplaceTriggeredBy {
		referents, more := o.instance.Frame.Referents(t, ref, o.instance.Context(t, cty.NilVal))
		diags.Append(more)
		for _, referent := range referents {
			if other := r.find(addr.Object{Instance: referent.Addr}); other != nil && triggers(other.change, ref) {
				reason = plan.ReplaceTriggered
			}
		}
	}
	if slices.Contains(r.Replace, o.addr.Instance) {
		reason = plan.ReplaceRequested
	}
	return reason, diags
}

// triggers reports whether a change to what the reference names replaces
// whoever refers to it in replace_triggered_by.
func triggers(c *plan.Change, ref *program.Ref) bool {
	if c == nil {
		return false
	}
	switch c.Action {
	case plan.Create, plan.Update, plan.DeleteThenCreate, plan.CreateThenDelete, plan.ForgetThenCreate:
	default:
		return false
	}
	if len(ref.Rest) == 0 {
		return true
	}
	before, hd := ref.Rest.TraverseRel(c.Before)
	if hd.HasErrors() || c.Before.IsNull() {
		return true
	}
	after, hd := ref.Rest.TraverseRel(c.After)
	if hd.HasErrors() {
		return true
	}
	before, _ = before.UnmarkDeep()
	after, _ = after.UnmarkDeep()
	same := before.Equals(after)
	return !same.IsKnown() || same.False()
}

// guard checks prevent_destroy of an object of a resource that is to be
// destroyed.
func (r *run) guard(t *promise.Task, o *object, res *program.Resource, f *eval.Frame) diag.List {
	expr := res.PreventDestroy
	if expr == nil || o.change.Action == plan.ForgetThenCreate || o.change.Action == plan.Forget {
		return nil
	}
	v, diags := eval.Evaluate(t, expr, f.Context(t, nil, cty.NilVal))
	if cell := t.Current(); diags.HasErrors() || cell != nil && cell.Failed() {
		return diags
	}
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown() || v.IsNull() || v.Type() != cty.Bool:
		diags.ErrorAt(expr.Range(), "Invalid prevent_destroy value", "The prevent_destroy argument must be true or false and known when planning.")
	case v.True():
		diags.ErrorAt(res.Range, "Instance cannot be destroyed", "Resource %s has lifecycle.prevent_destroy set, but the plan calls for this resource to be destroyed. To avoid this error and continue with the plan, either disable lifecycle.prevent_destroy or reduce the scope of the plan using the -target option.", o.addr)
	}
	return diags
}

// recordNoOp records that nothing is to be done with an object.
func (r *run) recordNoOp(o *object) {
	if o.stored == nil && !o.before.Exists() {
		return // there is nothing to leave alone
	}
	before := instance.Marked(o.subject.Schema, o.before.Value, o.stored)
	provider := o.conn.Addr
	o.change = &plan.Change{
		Addr: o.addr, Previous: o.previous, Provider: provider, Action: plan.NoOp,
		Before: before, After: before, BeforeIdentity: o.before.Identity, AfterIdentity: o.before.Identity,
		Private: o.before.Private,
	}
	r.record(o)
}

// conditions evaluates the pre- or postconditions of an instance. Plans that
// change nothing, and those that destroy, only warn.
func (r *run) conditions(t *promise.Task, i *eval.Instance, list []*program.Condition, self cty.Value, summary string) diag.List {
	severity := diag.Error
	if r.Mode != plan.Normal {
		severity = diag.Warning
	}
	return instance.Conditions(t, i, list, self, summary, severity, r.checks)
}
