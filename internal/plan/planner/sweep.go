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
	"weir.dev/weir/internal/plan/moves"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// sweep plans the prior objects that no instance has claimed: orphans and deposed objects are
// destroyed or forgotten.
func (r *run) sweep() {
	for _, a := range r.prior.Snapshot.Addresses() {
		if a.Name.Mode != addr.Managed {
			continue
		}
		owner, claimed := r.prior.Owner(a.Instance)
		if a.Deposed == "" && claimed {
			continue
		}
		now := a
		now.Instance = r.prior.Now(a.Instance)
		if claimed {
			now.Instance = owner
		}
		desired, reason, unsure := r.standing(now.Instance)
		if now.Instance != a.Instance && reason == plan.DeleteNoResourceConfig {
			reason = plan.DeleteNoMoveTarget
		}
		chosen := r.chooses(now.Instance) && !r.scope.LeavesOutProvider(r.prior.Snapshot.Objects[a].Provider)
		if r.Mode == plan.Destroy {
			chosen = r.destroys(now.Instance)
		}
		if a.Deposed == "" && (desired || unsure) || !chosen {
			continue
		}
		r.rt.Go(func(t *promise.Task) {
			t.Amend(func(l diag.List) diag.List { return l.InAddress(now.String()) }, func() { r.sweepObject(t, a, now, reason) })
		})
	}
}

// sweepObject plans the end of one object.
func (r *run) sweepObject(t *promise.Task, a, now addr.Object, reason plan.Reason) {
	o, ok := r.leftover(t, a, now, nil)
	if !ok {
		return
	}
	defer o.settle()
	late := r.heldBack(o)
	if !r.readPrior(t, o) {
		return
	}
	if !o.before.Exists() || r.Mode == plan.RefreshOnly {
		if o.before.Exists() {
			r.recordNoOp(o)
		} else {
			r.record(o)
		}
		return
	}
	c := r.deletion(o)
	if now.Deposed == "" && r.Mode != plan.Destroy { // there it is requested
		c.Reason = reason
	}
	rule, _ := r.removals().Find(now.Instance, r.claims)
	switch {
	case rule != nil && r.forgets(rule):
		c.Action = plan.Forget
		if reason := r.skipsDestroy(now.Instance, o.stored); reason != plan.NoReason {
			c.Reason = reason
		} else if !rule.From.Keyed() && now.Deposed == "" {
			c.Reason = plan.DeleteNoResourceConfig
			if now.Instance != a.Instance {
				c.Reason = plan.DeleteNoMoveTarget
			}
		}
		t.Report(Forgotten.Warning(rule.Range, "%s leaves the state and stays as it is, because the removed block at %s says so.", now, rule.Range))
	case rule == nil:
		if reason := r.skipsDestroy(now.Instance, o.stored); reason != plan.NoReason {
			c.Action, c.Reason = plan.Forget, reason
			if r.Mode == plan.Normal {
				t.Report(Forgotten.New(diag.Warning, "%s leaves the state and stays as it is, because its lifecycle says destroy = false. To manage it again, import it.", now))
			}
		}
	}
	held := c.Action == plan.Delete && r.holds(o)
	if late || held {
		reason := deferredPrerequisite
		if held {
			reason = neededInDoubt
		}
		r.postponeChange(o, reason)
		return
	}
	if c.Action == plan.Delete { // with all problems of that
		r.guardLeftover(t, o)
		r.planDeletion(t, o)
		r.leaving(t, o)
	}
	r.record(o)
}

// skipsDestroy says why an object without an instance in the configuration isn't
// destroyed: its resource, which may still have others, says so now, or it said
// so when the object was stored. There is no reason otherwise.
func (r *run) skipsDestroy(i addr.Instance, stored *state.Object) plan.Reason {
	if t := r.Tree.At(i.Module); t != nil {
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
func (r *run) heldBack(o *object) bool {
	node := r.pool.Node(o.conn.Addr)
	return node != nil && r.Mode == plan.Normal && (r.AllowDeferral || len(r.InDoubt) > 0) && r.waiting.reaches([]*promise.Node{node})
}

// guardLeftover checks prevent_destroy of an instance that the configuration
// doesn't have any more, although it has the resource. In a module instance
// that is gone too nothing but a constant can be evaluated.
func (r *run) guardLeftover(t *promise.Task, o *object) (ok bool) {
	tree, f := r.Tree.At(o.addr.Module), r.frame(o.addr.Module)
	if tree == nil || o.addr.Deposed != "" {
		return true
	}
	res := tree.Program.ResourceByName[o.addr.Name]
	if res == nil || res.PreventDestroy == nil {
		return true
	}
	if f == nil && len(res.PreventDestroy.Refs) > 0 {
		return true
	}
	if f == nil {
		f = r.root
	}
	return r.guard(t, o, res, f)
}

// leftover finds the provider of an object by the state: the configuration of
// it that the state names has to be there still. f is the module instance of the
// object, where it has configuration.
func (r *run) leftover(t *promise.Task, a, now addr.Object, f *eval.Frame) (*object, bool) {
	stored := r.prior.Snapshot.Objects[a]
	pi, ok := r.storedProvider(t, now, stored.Provider)
	if !ok {
		return nil, false
	}
	conn := r.pool.Open(t, pi)
	if conn == nil {
		return nil, false
	}
	sch := conn.Schemas.Resource(now.Name.Mode, now.Name.Type)
	if sch == nil {
		return nil, t.Report(resourceconfig.UnsupportedType.New(diag.Error, "The provider %s does not support resource type %q any more, so %s can't be destroyed. Use the provider version that made it, or take the object out of the state with: %s", conn.Addr.Provider.ForDisplay(), now.Name.Type, now, diag.Run("state rm", "'"+now.Instance.String()+"'")))
	}
	s, ok := instance.Subject(t, now.Instance, conn, sch, f)
	o := newObject(now, nil, conn, s)
	o.wasAt(a.Instance)
	o.stored = stored
	return o, ok
}

// storedProvider finds the provider instance that a state names.
func (r *run) storedProvider(t *promise.Task, a addr.Object, p addr.ProviderConfig) (*eval.ProviderInstance, bool) {
	pi, declared := providerclient.Find(t, r.frame(p.Module), p)
	switch {
	case pi != nil:
		return pi, true
	case declared:
		return nil, t.Report(ProviderInstanceGone.New(diag.Error, "To work with %s its original provider instance at %s is required, but it has been removed. This occurs when an element is removed from the provider configuration's for_each collection while objects created by that associated provider instance still exist in the state. Re-add the for_each element to destroy %s, after which you can remove the provider configuration again.", a, p, a))
	}
	return nil, t.Report(ProviderGone.New(diag.Error, "To work with %s its original provider configuration at %s is required, but it has been removed. This occurs when a provider configuration is removed while objects created by that provider still exist in the state. Re-add the provider configuration to destroy %s, after which you can remove the provider configuration again.", a, p, a))
}

// frame finds a module instance, or nil.
func (r *run) frame(m addr.Module) *eval.Frame {
	if f := r.within(m); f != nil {
		return f
	}
	return eval.Placed(r.root, m)
}

func (r *run) within(m addr.Module) *eval.Frame {
	f := r.root
	for _, s := range m.Steps() {
		if f = f.Within(s); f == nil {
			return nil
		}
	}
	return f
}

// deletion makes the change that ends an object. A plan to destroy doesn't
// tell of moves: nothing stays to be moved.
func (r *run) deletion(o *object) *plan.Change {
	from := o.from
	if r.Mode == plan.Destroy && !r.SkipRefresh { // what is inspected is stored where it is now
		from = nil
	}
	o.change = &plan.Change{
		Addr: *o.addr, From: from, Provider: o.conn.At(), Action: plan.Delete,
		Before: instance.Marked(o.subject.Schema, o.before.Value, o.stored), After: cty.NullVal(o.subject.Schema.Block.ImpliedType()),
		BeforeIdentity: o.before.Identity, Private: o.before.Private,
	}
	return o.change
}

// planDeletion asks the providers that want to be asked.
func (r *run) planDeletion(t *promise.Task, o *object) (ok bool) {
	for _, p := range r.deprovisioners(o) {
		if diags := actions.CannotRun(p); len(diags) > 0 && !p.Continue {
			return t.Report(diags...)
		}
	}
	if !o.conn.Schemas.PlanDestroy {
		return true
	}
	return t.Report(r.locate(o, o.conn.AskOf(t, r.ctx, providerclient.Plan, o.subject, func(s lifecycle.Subject) (diags diag.List) {
		o.change.Private, o.change.AfterIdentity, diags = s.PlanDestroy(r.ctx, o.before)
		return diags
	}))...)
}

// removals are the removed blocks of all modules, once these are loaded.
func (r *run) removals() *program.Removals {
	r.removedOnce.Do(func() { r.removed = r.Tree.Removals() })
	return r.removed
}

// deprovisioners are what runs before the object is deleted: provisioners of
// its resource, or else of the removed block that ends it. Tainted objects and
// those that were put aside go without.
func (r *run) deprovisioners(o *object) []*program.Provisioner {
	if o.stored == nil || o.stored.Tainted || o.addr.Deposed != "" {
		return nil
	}
	var list []*program.Provisioner
	tree := r.Tree.At(o.addr.Module)
	switch {
	case o.instance != nil:
		list = o.instance.Resource.Provisioners
	case tree != nil && tree.Program.ResourceByName[o.addr.Name] != nil:
		list = tree.Program.ResourceByName[o.addr.Name].Provisioners
	default:
		if block, _ := r.removals().Find(o.addr.Instance, nil); block != nil {
			list = block.Provisioners
		}
	}
	var at []*program.Provisioner
	for _, p := range list {
		if p.OnDestroy {
			at = append(at, p)
		}
	}
	return at
}

// standing says whether the configuration has an instance, and if not why.
// It is unsure where instances weren't or couldn't be computed.
func (r *run) standing(i addr.Instance) (desired bool, why plan.Reason, unsure bool) {
	f := r.root
	for _, s := range i.Module.Steps() {
		call := f.Program.CallByName[s.Call]
		if call == nil {
			return false, plan.DeleteNoResourceConfig, false
		}
		child, known := f.ChildFrame(call, s.Key)
		if !known {
			return false, plan.NoReason, true
		}
		if child == nil {
			if call.Source != nil && len(call.Source.Refs) > 0 {
				return false, plan.DeleteNoModule, false // what it loaded isn't known any more
			}
			// The module may still be called for other instances.
			if t := r.Tree.At(i.Module); t == nil || t.Program.ResourceByName[i.Name] == nil {
				return false, plan.DeleteNoResourceConfig, false
			}
			return false, plan.DeleteNoModule, false
		}
		f = child
	}
	res := f.Program.ResourceByName[i.Name]
	if res == nil {
		return false, plan.DeleteNoResourceConfig, false
	}
	found, e, known := f.Lookup(res, i.Key)
	switch {
	case !known:
		return false, plan.NoReason, true
	case found != nil:
		return true, plan.NoReason, false
	}
	return false, missingKey(res, e, i.Key), false
}

func missingKey(res *program.Resource, e eval.Expansion, k addr.Key) plan.Reason {
	_, isInt := k.Int()
	_, isString := k.Str()
	switch {
	case res.Repeat.Enabled != nil && k == addr.NoKey:
		return plan.DeleteEnabledFalse
	case e.Kind == eval.Counted && isInt:
		return plan.DeleteCountIndex
	case e.Kind == eval.Keyed && isString:
		return plan.DeleteEachKey
	}
	return plan.DeleteWrongRepetition
}

// checkRemoved reports removed blocks for instances that the configuration
// still has.
func (r *run) checkRemoved() {
	for _, f := range r.root.Frames() {
		for _, block := range f.Program.Removed {
			if !block.From.Keyed() {
				continue // reported without a plan
			}
			o := moves.Object{Module: addr.FromSteps(append(f.Addr.Steps(), block.From.Module.Steps()...)), Name: block.From.Name, Key: block.From.Key}
			if where, still := r.declares(o); still {
				r.note(diag.List{StillThere.Error(block.Range, "%s", "This statement declares a removal of "+o.String()+", but the configuration at "+where.String()+" still has that instance. Take its key out of there, or remove this block.")})
			}
		}
	}
}

// claims implements program.Claims.
func (r *run) claims(in addr.Module, block *program.Removed, m addr.Module) bool {
	f := r.frame(in)
	return f != nil && eval.Claims(f, block.Call, m)
}

// forgets reports whether a removed block keeps the real object. Blocks that
// don't say are read the way of the dialect.
func (r *run) forgets(block *program.Removed) bool {
	if block.Destroy != nil {
		return !*block.Destroy
	}
	return !r.RemovedDestroys
}
