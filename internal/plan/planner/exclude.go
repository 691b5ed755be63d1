package planner

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/plan/targeting"
)

// leavesOut reports whether -exclude leaves an instance as it is: it is excluded, or one of
// its references means an instance that is left out.
func (r *run) leavesOut(t *promise.Task, i *eval.Instance) bool {
	if len(r.Excludes) == 0 {
		return false
	}
	out := false
	// These reads order nothing and defer no other read.
	t.Try(func(t *promise.Task) { out = r.excluded.leads(t, place{i.Frame, i}) })
	return out
}

// An exclusion finds what needs an excluded instance. Declarations that can't need one, by
// their blocks, are never entered, nor are those in a circle of blocks, which are left out
// whole. So following references ends.
type exclusion struct {
	*run
	known map[place]bool // guarded by the run's mutex
}

// leads reports whether a place is left out, or leads to one that is.
func (x *exclusion) leads(t *promise.Task, p place) bool {
	at := refgraph.Site{Tree: x.Tree.At(p.frame.Addr)}
	switch d := p.part.(type) {
	case *eval.Instance:
		if !x.scope.Wants(d.Addr) {
			return true
		}
		at.Declaration = d.Resource
	case *program.Resource:
		if at.Declaration = d; x.scope.ExcludesSome(at) {
			at.Declaration = nil // its instances tell
		}
	case program.Declaration:
		at.Declaration = d
	}
	if at.Declaration != nil {
		leaves := x.scope.Leaves(at)
		if leaves != targeting.LeavesSome || x.circle(at) != 0 {
			return leaves != targeting.LeavesNone
		}
	}
	x.mu.Lock()
	out, known := x.known[p]
	x.mu.Unlock()
	if known {
		return out
	}
	next := written(t, p)
	if i, ok := p.part.(*eval.Instance); ok {
		out, next = x.imported(at), append(next, x.configuration(i)...)
	}
	out = out || slices.ContainsFunc(next, func(to place) bool { return x.leads(t, to) })
	x.mu.Lock()
	x.known[p] = out
	x.mu.Unlock()
	return out
}

// imported reports whether import blocks of a resource may refer to something left out.
func (x *exclusion) imported(at refgraph.Site) bool {
	return slices.ContainsFunc(x.references().Imports(at), func(to refgraph.Site) bool {
		return x.scope.Leaves(to) != targeting.LeavesNone || x.scope.ExcludesSome(to)
	})
}

// configuration is that of the provider of an instance.
func (x *exclusion) configuration(i *eval.Instance) []place {
	p, ok := x.references().Provider(x.Tree.At(i.Addr.Module), i.Resource.Provider)
	for f := i.Frame; ok && f != nil; f = f.Parent {
		if x.Tree.At(f.Addr) == p.Tree {
			return []place{{f, p.Declaration}}
		}
	}
	return nil
}

// chooses reports whether an instance that the configuration may not have any more is to be
// dealt with for its own sake. The state says which objects it needs.
func (r *run) chooses(i addr.Instance) bool {
	if !r.scope.Wants(i) {
		return false
	}
	switch r.scope.LeavesResource(i.Resource) {
	case targeting.LeavesAll:
		return false
	case targeting.LeavesSome:
		return !r.usesExcluded()[i]
	}
	return true
}

// leftOutBlock reports whether -exclude leaves out some instances of a resource: then it is
// no problem that its instances aren't known.
func (r *run) leftOutBlock(b eval.Block) bool {
	return b.Resource != nil && r.scope.LeavesResource(addr.Resource{Module: b.Frame.Addr, Name: b.Resource.Name}) == targeting.LeavesSome
}
