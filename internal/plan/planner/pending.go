package planner

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/plan/refgraph"
)

// awaits returns what a data source or ephemeral resource has to wait for, nil for
// nothing: a change of an instance that its block names, of what its depends_on
// and those of the module calls around it lead to, and, where conditions look
// at the result, of anything below. explicit is the number of cells that were
// read for depends_on.
//
// OpenTofu and Terraform use the references as they are written, with all instances of each
// block. Here a reference names the instances that it can
// mean for i, so that a change of another one doesn't defer the read. A reference
// whose expression wasn't evaluated still counts: it says that the resource is needed.
func (r *run) awaits(t *promise.Task, i *eval.Instance, explicit int) *plan.Awaited {
	var repeats []*program.Ref
	if e := i.Resource.Repeat.Expr(); e != nil {
		repeats = e.Refs
	}
	for _, ref := range refgraph.Block(i.Resource) {
		if ref.Kind != program.RefResource || ref.Resource.Name.Mode != addr.Managed {
			continue
		}
		if cause := r.awaitsNamed(t, i, ref, slices.Contains(repeats, ref)); cause != nil {
			return cause
		}
	}
	deps := t.Current().Deps()
	conditions := len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	if !conditions {
		deps = deps[:explicit]
	}
	for _, n := range deps {
		if (conditions || !listed(i, n)) && r.pending(n) {
			return r.cause(i, n)
		}
	}
	for _, ref := range i.Resource.DependsOn {
		if cause := r.losesWithin(t, i.Frame, ref); cause != nil {
			return cause
		}
	}
	return nil
}

// awaitsNamed is awaits for one reference to a managed resource. repeats is set for
// those of count and for_each.
func (r *run) awaitsNamed(t *promise.Task, i *eval.Instance, ref *program.Ref, repeats bool) *plan.Awaited {
	b := eval.Block{Frame: i.Frame, Resource: ref.Resource}
	forced := len(r.Targets) == 0 && !r.circular(i, ref.Resource)
	list, exact := i.Named(t, ref, repeats)
	if !exact && ref.Key != nil {
		list, exact = evaluated(t, b, list)
	}
	if !exact {
		if forced {
			i.Frame.Depend(t, []*program.Ref{ref})
		}
		list = b.Frame.Expanded(b.Resource)
	}
	for _, named := range list {
		if exact && forced {
			named.Read(t, &ref.Range)
		}
		if r.changes(named) || exact && r.loses(b, func(a addr.Instance) bool { return a == named.Addr }) != nil {
			return &plan.Awaited{Addr: named.Addr, Range: ref.Range}
		}
	}
	if exact {
		return nil
	}
	if lost := r.loses(b, nil); lost != nil {
		return &plan.Awaited{Addr: lost.Instance, Range: ref.Range}
	}
	return nil
}

// evaluated are the instances of a block that the task has read so far, where that was by
// their keys: references whose keys are made in a for expression or dynamic block can be known
// apart only so.
func evaluated(t *promise.Task, b eval.Block, all []*eval.Instance) (list []*eval.Instance, exact bool) {
	for _, n := range t.Current().Deps() {
		switch s := n.Subject.(type) {
		case *eval.Instance:
			if s.Frame == b.Frame && s.Resource == b.Resource {
				list = append(list, s)
			}
		case eval.Block:
			if s == b {
				return all, false
			}
		}
	}
	if len(list) == 0 {
		return all, false
	}
	return list, true
}

// listed reports whether a cell is that of a resource, or of an instance, that
// depends_on of i names: only its own change counts, not that of what is below it.
func listed(i *eval.Instance, n *promise.Node) bool {
	var res *program.Resource
	switch s := n.Subject.(type) {
	case eval.Block:
		if s.Frame == i.Frame {
			res = s.Resource
		}
	case *eval.Instance:
		if s.Frame == i.Frame {
			res = s.Resource
		}
	}
	return res != nil && slices.ContainsFunc(i.Resource.DependsOn, func(ref *program.Ref) bool { return ref.Resource == res })
}

// losesWithin is what is lost in the one instance of a module that depends_on names.
// Where it names all, pending finds that.
func (r *run) losesWithin(t *promise.Task, f *eval.Frame, ref *program.Ref) *plan.Awaited {
	if ref.Kind != program.RefCall || ref.Attr != "" {
		return nil
	}
	child := f.NamedCall(t, ref)
	if child == nil {
		return nil
	}
	lost := r.loses(eval.Block{Frame: f, Call: ref.Call}, func(a addr.Instance) bool { return child.Addr.Contains(a.Module) })
	if lost == nil {
		return nil
	}
	return &plan.Awaited{Addr: lost.Instance, Range: ref.Range}
}

// cause is the change that makes a cell pending, found from there down.
func (r *run) cause(i *eval.Instance, n *promise.Node) *plan.Awaited {
	at := &plan.Awaited{Range: i.Resource.Range}
	for {
		switch s := n.Subject.(type) {
		case *eval.Instance:
			if at.Addr = s.Addr; s.Addr.Name.Mode == addr.Managed && r.changes(s) {
				return at
			}
		case eval.Block:
			if lost := r.loses(s, nil); lost != nil {
				at.Addr = lost.Instance
				return at
			}
		}
		below := slices.IndexFunc(n.Deps(), r.pending)
		if below < 0 {
			return at
		}
		n = n.Deps()[below]
	}
}

// circular reports whether a resource that a block of the same module names
// leads back to that block, by whatever instances.
func (r *run) circular(i *eval.Instance, res *program.Resource) bool {
	tree := r.Tree.At(i.Addr.Module)
	circle := r.circle(refgraph.Site{Tree: tree, Declaration: i.Resource})
	return circle != 0 && circle == r.circle(refgraph.Site{Tree: tree, Declaration: res})
}

// circle numbers the circle of references that a declaration is in, 0 for none.
func (r *run) circle(at refgraph.Site) int {
	r.circleOnce.Do(func() { r.circles = r.references().Circles() })
	return r.circles[at]
}

// pending reports whether a cell, directly or through others, depends on
// something managed that is about to change.
func (r *run) pending(n *promise.Node) bool {
	r.mu.Lock()
	known, ok := r.pendingOf[n]
	r.mu.Unlock()
	if ok {
		return known
	}
	result := slices.ContainsFunc(n.Deps(), r.pending)
	switch s := n.Subject.(type) {
	case *eval.Instance:
		result = result || s.Addr.Name.Mode == addr.Managed && r.changes(s)
	case eval.Block:
		result = result || r.loses(s, nil) != nil
	}
	r.mu.Lock()
	r.pendingOf[n] = result
	r.mu.Unlock()
	return result
}

// changes reports whether a change of the instance is planned.
func (r *run) changes(i *eval.Instance) bool {
	o := r.find(i)
	return o != nil && o.change != nil && o.change.Action != plan.NoOp
}

// loses returns a stored object of a resource, or in a module, that is neither wanted any more
// nor moved: it will be deleted. Where among is given, only instances that it holds for are
// inspected.
func (r *run) loses(b eval.Block, among func(addr.Instance) bool) *addr.Object {
	if r.Mode != plan.Normal {
		return nil
	}
	r.storedOnce.Do(r.indexStored)
	stored := r.storedIn[graphbuilder.BlockOf(b)]
	n := slices.IndexFunc(stored, func(a addr.Object) bool {
		return (among == nil || among(a.Instance)) && r.leaves(a)
	})
	if n < 0 {
		return nil
	}
	return &stored[n]
}

// leaves reports whether a stored object will be deleted for want of a place.
func (r *run) leaves(a addr.Object) bool {
	if !r.chooses(a.Instance) {
		return false
	}
	if a.Deposed != "" {
		return true
	}
	if _, claimed := r.prior.Owner(a.Instance); claimed || r.prior.Away(a.Instance) {
		return false
	}
	desired, _, unsure := r.standing(a.Instance)
	return !desired && !unsure
}

// indexStored finds the stored objects of each block.
func (r *run) indexStored() {
	r.storedIn = map[graphbuilder.Block][]addr.Object{}
	for a := range r.prior.Snapshot.Objects {
		if a.Name.Mode == addr.Managed {
			for _, b := range graphbuilder.BlocksOf(a.Instance) {
				r.storedIn[b] = append(r.storedIn[b], a)
			}
		}
	}
}
