package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/instance"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/state"
)

// A destroyer is the host of a plan to destroy: blocks have the instances
// that the state has, and references answer with what exists. Only what the
// providers' configurations need is evaluated.
type destroyer struct{ *run }

// Expand implements eval.Host.
func (d *destroyer) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, diag.List)) (eval.Expansion, diag.List) {
	if b.Provider != nil {
		return d.run.Expand(t, b, configured)
	}
	return b.Stored(blockKeys(d.prior.keys, b)), nil
}

// blockKeys are the keys that a state has of a block.
func blockKeys(keys *state.Keys, b eval.Block) []addr.Key {
	if b.Resource != nil {
		return keys.Resource(addr.Resource{Module: b.Frame.Addr, Name: b.Resource.Name})
	}
	return keys.Call(b.Frame.Addr, b.Call.Name)
}

// Resource implements eval.Host.
func (d *destroyer) Resource(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	switch i.Addr.Name.Mode {
	case addr.Data:
		return d.storedData(t, i)
	case addr.Ephemeral:
		return d.ephemeral(t, i)
	}
	previous, stored := d.claimFor(i)
	if stored == nil {
		return cty.DynamicVal, nil
	}
	o, diags := d.open(t, i)
	if o == nil || t.Current().Failed() {
		return cty.DynamicVal, diags
	}
	if o.conn.Addr != stored.Provider && previous.Name.Type == i.Addr.Name.Type {
		// The object belongs to the provider that made it.
		o, diags = d.leftover(t, addr.Object{Instance: previous}, o.addr)
		if o == nil {
			return cty.DynamicVal, diags
		}
		o.instance = i
	}
	o.previous, o.stored = previous, stored
	diags.Append(d.readPrior(t, o))
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v := instance.Marked(o.subject.Schema, o.before.Value, o.stored)
	if !o.before.Exists() {
		d.record(o)
		return cty.DynamicVal, diags
	}
	if !d.dooms(i.Addr) {
		d.recordNoOp(o)
		return v, diags
	}
	d.deletion(o)
	switch {
	case i.Resource.SkipDestroy:
		o.change.Action, o.change.Reason = plan.Forget, plan.ForgotDestroyFalse
	case stored.SkipDestroy:
		o.change.Action, o.change.Reason = plan.Forget, plan.ForgotDestroyFalseState
	default:
		diags.Append(d.guard(t, o, i.Resource, i.Frame))
		if !diags.HasErrors() {
			diags.Append(d.planDeletion(o))
		}
	}
	d.record(o)
	return v, diags
}

// storedData answers with a data source's stored result, or reads it.
func (d *destroyer) storedData(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	stored := d.prior.current(i.Addr)
	if stored == nil {
		return d.data(t, i)
	}
	o, diags := d.open(t, i)
	if o == nil {
		return cty.DynamicVal, diags
	}
	v, err := o.subject.Decode(stored)
	if err != nil {
		return d.data(t, i)
	}
	return instance.Marked(o.subject.Schema, v, stored), diags
}

// dooms reports whether a plan to destroy includes the object: without
// targets everything; with targets they and whatever depends on them; with
// exclusions all but them and what they depend on.
func (r *run) dooms(i addr.Instance) bool {
	r.doomOnce.Do(r.doom)
	return r.doomed == nil || r.doomed[i]
}

func (r *run) doom() {
	if len(r.Targets)+len(r.Excludes) == 0 {
		return
	}
	// Users lead to the groups that they depend on, groups to their members;
	// and back.
	needs, users := map[string][]string{}, map[string][]string{}
	link := func(user, of string) {
		needs[user] = append(needs[user], of)
		users[of] = append(users[of], user)
	}
	objects := r.prior.snapshot.Objects
	var targeted, excluded []string
	r.doomed = map[addr.Instance]bool{}
	for a, o := range objects {
		own := a.Instance.String()
		for _, group := range groupsOf(a.Instance) {
			link("group "+group, own)
		}
		for _, dep := range o.Dependencies {
			link(own, "group "+groupFor(a.Instance, dep))
		}
		now := r.moves.now(a.Instance)
		switch {
		case len(r.Excludes) > 0 && slices.ContainsFunc(r.Excludes, func(t addr.Target) bool { return t.Matches(now) }):
			excluded = append(excluded, own)
		case r.targeted(now):
			r.doomed[now] = true
			targeted = append(targeted, own)
		}
	}
	spared, using := reached(excluded, needs), reached(targeted, users)
	for a := range objects {
		now := r.moves.now(a.Instance)
		if len(r.Excludes) > 0 {
			r.doomed[now] = r.wanted(now) && !spared[a.Instance.String()]
		} else if using[a.Instance.String()] {
			r.doomed[now] = true
		}
	}
}

// endsWithObjects reports whether a plan to destroy removes an output: where
// only some objects are destroyed, one that reads objects of which all are.
// What reads others too stays as it is until the next apply.
func (r *run) endsWithObjects(o *program.Output) bool {
	if len(r.Targets)+len(r.Excludes) == 0 {
		return true
	}
	if o.Expr == nil {
		return false
	}
	c := &attributes{seen: map[string]bool{}, passed: map[passage]bool{}}
	c.follow(r.root, o.Expr.Refs)
	ends := false
	for _, a := range c.list {
		of := a.Resource.Resource
		for _, key := range r.prior.keys.Resource(of) {
			i := of.Instance(key)
			switch {
			case a.Resource.Key != addr.NoKey && a.Resource.Key != key:
			case !r.dooms(i):
				return false
			default:
				ends = true
			}
		}
	}
	return ends
}

// reached is what can be reached in one step or more.
func reached(from []string, next map[string][]string) map[string]bool {
	set, expanded := map[string]bool{}, map[string]bool{}
	for len(from) > 0 {
		r := from[len(from)-1]
		from = from[:len(from)-1]
		if expanded[r] {
			continue
		}
		expanded[r] = true
		for _, n := range next[r] {
			set[n] = true
			from = append(from, n)
		}
	}
	return set
}

// walkStored evaluates the instances that the state has in the modules that
// the configuration still has; the sweep deals with the others.
func (d *destroyer) walkStored(t *promise.Task, f *eval.Frame) {
	for _, res := range f.Program.Resources {
		if res.Name.Mode != addr.Managed {
			continue
		}
		for _, i := range f.Instances(t, res, nil) {
			if d.dooms(i.Addr) {
				d.rt.Go(func(t *promise.Task) { i.Value(t, nil) })
			}
		}
	}
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			d.rt.Go(func(t *promise.Task) { d.walkStored(t, child) })
		}
	}
}
