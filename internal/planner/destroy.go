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
	if b.Provider != nil || b.Call != nil && b.Call.Nth > 0 {
		return d.run.Expand(t, b, configured)
	}
	return b.Stored(blockKeys(d.prior.keys, b)), nil
}

// blockKeys are the keys that a state has of a block.
func blockKeys(keys *state.Keys, b eval.Block) []addr.Key {
	if b.Resource != nil {
		return keys.Resource(addr.Resource{Module: b.Frame.Addr, Name: b.Resource.Name})
	}
	return keys.Call(b.Frame.Addr, b.Call.Call)
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
	o, diags := d.connect(t, i, previous, stored)
	if o == nil || t.Current().Failed() {
		return cty.DynamicVal, diags
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
	case d.holds(o):
		d.postponeChange(o, neededInDoubt)
		return v, diags
	case i.Resource.SkipDestroy:
		o.change.Action, o.change.Reason = plan.Forget, plan.ForgotDestroyFalse
	case stored.SkipDestroy && !i.Resource.Repeat.IsSingle():
		// Whether it is an instance that the configuration still has isn't
		// looked at here; if it isn't, this was its last word.
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

// connect finds the provider of a stored instance. The object belongs to the
// one that made it: what the configuration says of that may follow from values
// that a plan to destroy doesn't have, such as each.value. Where that provider
// configuration is gone, or the type has changed, the one configured now has to
// do.
func (d *destroyer) connect(t *promise.Task, i *eval.Instance, previous addr.Instance, stored *state.Object) (*object, diag.List) {
	now := addr.Object{Instance: i.Addr}
	if pi, _ := d.storedProvider(t, now, stored.Provider); pi == nil || previous.Name.Type != i.Addr.Name.Type {
		return d.open(t, i)
	}
	o, diags := d.leftover(t, addr.Object{Instance: previous}, now, i.Frame)
	if o != nil {
		o.instance = i
	}
	return o, diags
}

// storedData answers with a data source's stored result, or reads it.
func (d *destroyer) storedData(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	stored := d.prior.current(i.Addr)
	if stored == nil {
		return d.data(t, i)
	}
	o, diags := d.connect(t, i, i.Addr, stored)
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
	if r.whole() {
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
	if r.whole() {
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
	for _, c := range f.Program.AllCalls() {
		for _, child := range f.Calls(t, c, nil) {
			d.rt.Go(func(t *promise.Task) { d.walkStored(t, child) })
		}
	}
}

// attributes collects those that references lead to in the module instances
// that there are.
type attributes struct {
	list   []plan.Attribute
	seen   map[string]bool
	passed map[passage]bool
}

// called is an output of a module call, or all of them.
type called struct {
	call *program.Call
	attr string
}

// A passage is a declaration in a module instance.
type passage struct {
	frame       *eval.Frame
	declaration any
}

// pass reports whether the declaration wasn't followed yet.
func (c *attributes) pass(f *eval.Frame, declaration any) bool {
	p := passage{f, declaration}
	fresh := !c.passed[p]
	c.passed[p] = true
	return fresh
}

func (c *attributes) follow(f *eval.Frame, refs []*program.Ref) {
	for _, ref := range refs {
		switch ref.Kind {
		case program.RefResource:
			paths := instance.Paths([]traversal{ref.Rest})
			a := plan.Attribute{Resource: addr.Resource{Module: f.Addr, Name: ref.Resource.Name}.Instance(constantKey(ref)), Path: paths[0]}
			if text := a.Resource.String() + pathText(a.Path); !c.seen[text] {
				c.seen[text] = true
				c.list = append(c.list, a)
			}
		case program.RefLocal:
			if ref.Local.Expr != nil && c.pass(f, ref.Local) {
				c.follow(f, ref.Local.Expr.Refs)
			}
		case program.RefVariable:
			if f.Call == nil || !c.pass(f, ref.Variable) {
				continue
			}
			if in := f.Call.Input(ref.Variable.Name); in != nil && in.Expr != nil {
				c.follow(f.Parent, in.Expr.Refs)
			}
		case program.RefCall:
			if !c.pass(f, called{ref.Call, ref.Attr}) {
				continue // all instances were looked at
			}
			for _, child := range f.Children(ref.Call) {
				for _, o := range child.Program.Outputs {
					if (ref.Attr == "" || o.Name == ref.Attr) && o.Expr != nil && c.pass(child, o) {
						c.follow(child, o.Expr.Refs)
					}
				}
			}
		}
	}
}
