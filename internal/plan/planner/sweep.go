package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/actions"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// endings plans the ends of objects: of those that no instance has claimed, and in plans to
// destroy of all.
type endings struct {
	options   *Options
	prior     *prior.Prior
	calls     *calls
	layout    *layout
	selection *selection
	reader    *reader
	record    *record
	deferral  *deferral
	actions   actions.Actions
}

// An orphan is a stored object that no instance has claimed: without configuration, or deposed.
type orphan struct {
	stored addr.Object // its address in the state
	now    addr.Object // its address after the moves
	reason plan.Reason
}

// orphans are the objects that are left once all instances have claimed theirs.
func (e *endings) orphans() (list []orphan) {
	for _, a := range e.prior.Snapshot.Addresses() {
		if a.Name.Mode != addr.Managed {
			continue
		}
		owner, claimed := e.prior.Owner(a.Instance)
		if a.Deposed == "" && claimed {
			continue
		}
		now := a
		now.Instance = e.prior.Now(a.Instance)
		if claimed {
			now.Instance = owner
		}
		desired, reason, unsure := e.layout.standing(now.Instance)
		if now.Instance != a.Instance && reason == plan.DeleteNoResourceConfig {
			reason = plan.DeleteNoMoveTarget
		}
		chosen := e.selection.chooses(now.Instance) && !e.selection.LeavesOutProvider(e.prior.Snapshot.Objects[a].Provider)
		if e.options.Mode == plan.Destroy {
			chosen = e.selection.destroys(now.Instance)
		}
		if a.Deposed == "" && (desired || unsure) || !chosen {
			continue
		}
		list = append(list, orphan{a, now, reason})
	}
	return list
}

// orphan plans the end of one of them.
func (e *endings) orphan(t *promise.Task, is orphan) {
	at, ok := e.open(t, is.stored, is.now, nil)
	if !ok {
		return
	}
	late := e.heldBack(at.Conn)
	read := e.reader.read
	if rule := e.removal(is); rule != nil && e.options.ForgottenUnread && e.options.Mode == plan.Normal && e.options.forgets(rule) {
		read = e.reader.asStored
	}
	o, ok := read(t, at)
	switch {
	case !ok:
	case !o.now.Exists():
		e.record.add(o.decided(nil))
	case e.options.Mode == plan.RefreshOnly:
		e.record.add(o.decided(o.noOp()))
	default:
		e.end(t, o, is, late)
	}
}

// end plans the end of an orphan that exists: it is destroyed or forgotten. late: its provider
// waits for a later round.
func (e *endings) end(t *promise.Task, o *refreshedObject, is orphan, late bool) {
	c := e.deletion(o)
	if is.now.Deposed == "" && e.options.Mode != plan.Destroy { // there it is requested
		c.Reason = is.reason
	}
	e.forget(t, o, c, is)
	held := c.Action == plan.Delete && e.deferral.holds(o.priorObject)
	switch {
	case held:
		e.record.postpone(o.decided(nil), c, neededInDoubt)
		return
	case late:
		e.record.postpone(o.decided(nil), c, deferredPrerequisite)
		return
	}
	d := o.decided(c)
	if c.Action == plan.Delete { // with all problems of that
		e.guard(t, c)
		e.plan(t, o, c)
		d.invocations, _ = e.invocations(t, o, c)
	}
	e.record.add(d)
}

// removal is the removed block for an orphan, or nil.
func (e *endings) removal(is orphan) *program.Removed {
	rule, _ := e.layout.removals().Find(is.now.Instance, e.layout.claims)
	return rule
}

// forget makes the change of an orphan one that leaves the real object, where a removed block or
// the object's lifecycle says so.
func (e *endings) forget(t *promise.Task, o *refreshedObject, c *plan.Change, is orphan) {
	rule := e.removal(is)
	skips := e.skipsDestroy(is.now.Instance, o.kept)
	switch {
	case rule != nil && e.options.forgets(rule):
		c.Action = plan.Forget
		if skips != plan.NoReason {
			c.Reason = skips
		} else if !rule.From.Keyed() && is.now.Deposed == "" {
			c.Reason = plan.DeleteNoResourceConfig
			if is.now.Instance != is.stored.Instance {
				c.Reason = plan.DeleteNoMoveTarget
			}
		}
		t.Report(Forgotten.Warning(rule.Range, "%s leaves the state and stays as it is, because the removed block at %s says so.", is.now, rule.Range))
	case rule == nil && skips != plan.NoReason:
		c.Action, c.Reason = plan.Forget, skips
		if e.options.Mode == plan.Normal {
			t.Report(Forgotten.New(diag.Warning, "%s leaves the state and stays as it is, because its lifecycle says destroy = false. To manage it again, import it.", is.now))
		}
	}
}

// skipsDestroy says why an object without an instance in the configuration isn't
// destroyed: its resource, which may still have others, says so now, or it said
// so when the object was stored. There is no reason otherwise.
func (e *endings) skipsDestroy(i addr.Instance, stored *state.Object) plan.Reason {
	if t := e.layout.tree.At(i.Module); t != nil {
		if res := t.Program.ResourceByName[i.Name]; res != nil && res.SkipDestroy {
			return plan.ForgotDestroyFalse
		}
	}
	if stored.SkipDestroy {
		return plan.ForgotDestroyFalseState
	}
	return plan.NoReason
}

// heldBack reports whether the provider of an object without configuration is
// configured with something that waits for a later round.
func (e *endings) heldBack(conn *providerclient.Conn) bool {
	node := e.calls.pool.Node(conn.Addr)
	return node != nil && e.options.Mode == plan.Normal && (e.options.AllowDeferral || len(e.options.InDoubt) > 0) && e.deferral.waiting.reaches([]*promise.Node{node})
}

// guard checks prevent_destroy of an instance that the configuration
// doesn't have any more, although it has the resource. In a module instance
// that is gone too nothing but a constant can be evaluated.
func (e *endings) guard(t *promise.Task, c *plan.Change) {
	tree, f := e.layout.tree.At(c.Addr.Module), e.layout.frame(c.Addr.Module)
	if tree == nil || c.Addr.Deposed != "" {
		return
	}
	res := tree.Program.ResourceByName[c.Addr.Name]
	if res == nil || res.PreventDestroy == nil {
		return
	}
	if f == nil && len(res.PreventDestroy.Refs) > 0 {
		return
	}
	if f == nil {
		f = e.layout.root
	}
	e.options.guard(t, c, res, f)
}

// open finds the provider of an object by the state: the configuration of
// it that the state names has to be there still. f is the module instance of the
// object, where it has configuration.
func (e *endings) open(t *promise.Task, a, now addr.Object, f *eval.Frame) (*priorObject, bool) {
	stored := e.prior.Snapshot.Objects[a]
	pi, ok := e.storedProvider(t, now, stored.Provider)
	if !ok {
		return nil, false
	}
	conn := e.calls.pool.Open(t, pi)
	if conn == nil {
		return nil, false
	}
	sch := conn.Schemas.Resource(now.Name.Mode, now.Name.Type)
	if sch == nil {
		return nil, t.Report(resourceconfig.UnsupportedType.New(diag.Error, "The provider %s does not support resource type %q any more, so %s can't be destroyed. Use the provider version that made it, or take the object out of the state with: %s", conn.Addr.Provider.ForDisplay(), now.Name.Type, now, diag.Run("state rm", "'"+now.Instance.String()+"'")))
	}
	s, ok := instance.Subject(t, now.Instance, conn, sch, f)
	return claim(instance.Opened{Addr: now, Conn: conn, Subject: s}, a.Instance, stored), ok
}

// storedProvider finds the provider instance that a state names.
func (e *endings) storedProvider(t *promise.Task, a addr.Object, p addr.ProviderConfig) (*eval.ProviderInstance, bool) {
	pi, declared := providerclient.Find(t, e.layout.frame(p.Module), p)
	switch {
	case pi != nil:
		return pi, true
	case declared:
		return nil, t.Report(ProviderInstanceGone.New(diag.Error, "To work with %s its original provider instance at %s is required, but it has been removed. This occurs when an element is removed from the provider configuration's for_each collection while objects created by that associated provider instance still exist in the state. Re-add the for_each element to destroy %s, after which you can remove the provider configuration again.", a, p, a))
	}
	return nil, t.Report(ProviderGone.New(diag.Error, "To work with %s its original provider configuration at %s is required, but it has been removed. This occurs when a provider configuration is removed while objects created by that provider still exist in the state. Re-add the provider configuration to destroy %s, after which you can remove the provider configuration again.", a, p, a))
}

// deletion is the change that ends an object. A plan to destroy doesn't
// tell of moves: nothing stays to be moved.
func (e *endings) deletion(o *refreshedObject) *plan.Change {
	from := o.from
	if e.options.Mode == plan.Destroy && !e.options.SkipRefresh { // what is inspected is stored where it is now
		from = nil
	}
	return &plan.Change{
		Addr: o.Addr, From: from, Provider: o.Conn.At(), Action: plan.Delete,
		Before: o.value(), After: cty.NullVal(o.Subject.Schema.Block.ImpliedType()),
		BeforeIdentity: o.now.Identity, Private: o.now.Private,
	}
}

// plan has the provider plan a deletion, where it does that.
func (e *endings) plan(t *promise.Task, o *refreshedObject, c *plan.Change) (ok bool) {
	for _, p := range e.layout.deprovisioners(o.Addr, o.Instance, o.kept) {
		if diags := actions.CannotRun(p); len(diags) > 0 && !p.Continue {
			return t.Report(diags...)
		}
	}
	if !o.Conn.Schemas.PlanDestroy {
		return true
	}
	return t.Report(e.calls.locate(&o.Opened, o.Conn.AskOf(t, e.calls.ctx, providerclient.Plan, o.Subject, func(s lifecycle.Subject) (diags diag.List) {
		c.Private, c.AfterIdentity, diags = s.PlanDestroy(e.calls.ctx, o.now)
		return diags
	}))...)
}

// invocations are what is invoked around the end of an object. Anyone who is read then reports its
// own problems.
func (e *endings) invocations(t *promise.Task, o *refreshedObject, c *plan.Change) (list []*plan.Invocation, ok bool) {
	i := o.Instance
	if i == nil && o.Addr.Deposed == "" {
		i = actions.Leaving(e.layout.frame(o.Addr.Module), o.Addr.Instance)
	}
	if i == nil || len(i.Resource.Triggers) == 0 {
		return nil, true
	}
	diags, _ := t.Try(func(t *promise.Task) { list, _, _ = e.actions.Invocations(t, i, c) })
	return list, t.Report(diags...)
}

// deprovisioners are what runs before an object is deleted: provisioners of
// its resource, or else of the removed block that ends it. Tainted objects and
// those that were put aside go without. i is nil without configuration.
func (l *layout) deprovisioners(at addr.Object, i *eval.Instance, stored *state.Object) []*program.Provisioner {
	if stored == nil || stored.Tainted || at.Deposed != "" {
		return nil
	}
	var list []*program.Provisioner
	tree := l.tree.At(at.Module)
	switch {
	case i != nil:
		list = i.Resource.Provisioners
	case tree != nil && tree.Program.ResourceByName[at.Name] != nil:
		list = tree.Program.ResourceByName[at.Name].Provisioners
	default:
		if block, _ := l.removals().Find(at.Instance, nil); block != nil {
			list = block.Provisioners
		}
	}
	var destroying []*program.Provisioner
	for _, p := range list {
		if p.OnDestroy {
			destroying = append(destroying, p)
		}
	}
	return destroying
}

// forgets reports whether a removed block keeps the real object. Blocks that
// don't say are read the way of the dialect.
func (m Meaning) forgets(block *program.Removed) bool {
	if block.Destroy != nil {
		return !*block.Destroy
	}
	return !m.RemovedDestroys
}
