package planner

import (
	"slices"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/arrange"
	"weir.dev/weir/internal/plan/references"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/promise"
)

// awaits reports whether a data source or ephemeral resource has to wait for a
// change: of a managed resource that its block names, of what its depends_on
// and those of the module calls around it lead to, and, where conditions look
// at the result, of anything below. explicit is the number of cells that were
// read for depends_on.
//
// What the block names are the references as they are written, in whatever
// expression, with all instances: the peers' rule. A reference whose expression
// wasn't evaluated counts, because it says that the resource is needed.
func (r *run) awaits(t *promise.Task, i *eval.Instance, explicit int) bool {
	for _, ref := range references.Block(i.Resource) {
		if ref.Kind != program.RefResource || ref.Resource.Name.Mode != addr.Managed {
			continue
		}
		if len(r.Targets) == 0 && !r.circular(i, ref.Resource) {
			i.Frame.Depend(t, []*program.Ref{ref})
		}
		if r.changing(eval.Block{Frame: i.Frame, Resource: ref.Resource}) {
			return true
		}
	}
	deps := t.Current().Deps()
	conditions := len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	if !conditions {
		deps = deps[:explicit]
	}
	return slices.ContainsFunc(deps, func(n *promise.Node) bool {
		b, ok := n.Subject.(eval.Block)
		direct := ok && b.Resource != nil && b.Frame == i.Frame && slices.ContainsFunc(i.Resource.DependsOn, func(ref *program.Ref) bool { return ref.Resource == b.Resource })
		return (conditions || !direct) && r.pending(n)
	})
}

// circular reports whether a resource that a block of the same module names
// leads back to that block, by whatever instances.
func (r *run) circular(i *eval.Instance, res *program.Resource) bool {
	r.circleOnce.Do(func() { r.circles = r.references().Circles() })
	if len(r.circles) == 0 {
		return false
	}
	tree := r.Tree.At(i.Addr.Module)
	circle := r.circles[references.Site{Tree: tree, Declaration: i.Resource}]
	return circle != 0 && circle == r.circles[references.Site{Tree: tree, Declaration: res}]
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
		result = result || r.loses(s)
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

// changing reports whether a resource has instances that change or leave.
func (r *run) changing(b eval.Block) bool {
	return slices.ContainsFunc(b.Frame.Expanded(b.Resource), r.changes) || r.loses(b)
}

// loses reports whether objects are stored of a resource, or in a module, that
// are neither wanted any more nor moved: they will be deleted.
func (r *run) loses(b eval.Block) bool {
	if r.Mode != plan.Normal {
		return false
	}
	r.storedOnce.Do(r.indexStored)
	return slices.ContainsFunc(r.storedIn[arrange.BlockOf(b)], func(a addr.Object) bool {
		if !r.scope.Chooses(a.Instance) {
			return false
		}
		if a.Deposed != "" {
			return true
		}
		if _, claimed := r.prior.Owner(a.Instance); claimed || r.prior.Away(a.Instance) {
			return false
		}
		desired, _, unsure := sweeper{r}.standing(a.Instance)
		return !desired && !unsure
	})
}

// indexStored finds the stored objects of each block.
func (r *run) indexStored() {
	r.storedIn = map[arrange.Block][]addr.Object{}
	for a := range r.prior.Snapshot.Objects {
		if a.Name.Mode == addr.Managed {
			for _, b := range arrange.BlocksOf(a.Instance) {
				r.storedIn[b] = append(r.storedIn[b], a)
			}
		}
	}
}
