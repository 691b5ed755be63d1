package planner

import (
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/plan/targeting"
)

// A selection is what -target and -exclude choose, by instance. Declarations that can't need an
// excluded instance, by their blocks, are never entered, nor are those in a circle of blocks,
// which are left out whole. So following references ends.
type selection struct {
	*targeting.Scope
	layout *layout
	// usesExcluded are the stored objects that depend on excluded ones.
	usesExcluded func() map[addr.Instance]bool
	// destroyed are the instances that a plan to destroy includes, nil for everything.
	destroyed func() map[addr.Instance]bool

	mu    sync.Mutex
	known map[place]bool
}

func newSelection(l *layout, p *prior.Prior, o *Options) *selection {
	read := l.references
	if o.Mode == plan.Destroy {
		read = nil
	}
	scope := targeting.New(l.tree, o.Targets, o.Excludes, read)
	return &selection{
		Scope: scope, layout: l, known: map[place]bool{},
		usesExcluded: sync.OnceValue(func() map[addr.Instance]bool { return scope.UseExcluded(p.Snapshot, p.Now) }),
		destroyed:    sync.OnceValue(func() map[addr.Instance]bool { return scope.Destroyed(p.Snapshot, p.Now) }),
	}
}

// leavesOut reports whether -exclude leaves an instance as it is: it is excluded, or one of
// its references means an instance that is left out.
func (s *selection) leavesOut(t *promise.Task, i *eval.Instance) bool {
	if len(s.Excludes) == 0 {
		return false
	}
	out := false
	// These reads order nothing and defer no other read.
	t.Try(func(t *promise.Task) { out = s.leads(t, place{i.Frame, i}) })
	return out
}

// destroys reports whether a plan to destroy includes an object.
func (s *selection) destroys(i addr.Instance) bool {
	d := s.destroyed()
	return d == nil || d[i]
}

// leads reports whether a place is left out, or leads to one that is.
func (s *selection) leads(t *promise.Task, p place) bool {
	at := refgraph.Site{Tree: s.layout.tree.At(p.frame.Addr)}
	switch d := p.part.(type) {
	case *eval.Instance:
		if !s.Wants(d.Addr) {
			return true
		}
		at.Declaration = d.Resource
	case *program.Resource:
		if at.Declaration = d; s.ExcludesSome(at) {
			at.Declaration = nil // its instances tell
		}
	case program.Declaration:
		at.Declaration = d
	}
	if at.Declaration != nil {
		leaves := s.Leaves(at)
		if leaves != targeting.LeavesSome || s.layout.circle(at) != 0 {
			return leaves != targeting.LeavesNone
		}
	}
	s.mu.Lock()
	out, known := s.known[p]
	s.mu.Unlock()
	if known {
		return out
	}
	next := written(t, p)
	if i, ok := p.part.(*eval.Instance); ok {
		out, next = s.imported(at), append(next, s.configuration(i)...)
	}
	out = out || slices.ContainsFunc(next, func(to place) bool { return s.leads(t, to) })
	s.mu.Lock()
	s.known[p] = out
	s.mu.Unlock()
	return out
}

// imported reports whether import blocks of a resource may refer to something left out.
func (s *selection) imported(at refgraph.Site) bool {
	return slices.ContainsFunc(s.layout.references().Imports(at), func(to refgraph.Site) bool {
		return s.Leaves(to) != targeting.LeavesNone || s.ExcludesSome(to)
	})
}

// configuration is that of the provider of an instance.
func (s *selection) configuration(i *eval.Instance) []place {
	p, ok := s.layout.references().Provider(s.layout.tree.At(i.Addr.Module), i.Resource.Provider)
	for f := i.Frame; ok && f != nil; f = f.Parent {
		if s.layout.tree.At(f.Addr) == p.Tree {
			return []place{{f, p.Declaration}}
		}
	}
	return nil
}

// chooses reports whether an instance that the configuration may not have any more is to be
// dealt with for its own sake. The state says which objects it needs.
func (s *selection) chooses(i addr.Instance) bool {
	if !s.Wants(i) {
		return false
	}
	switch s.LeavesResource(i.Resource) {
	case targeting.LeavesAll:
		return false
	case targeting.LeavesSome:
		return !s.usesExcluded()[i]
	}
	return true
}

// leftOutBlock reports whether -exclude leaves out some instances of a resource: then it is
// no problem that its instances aren't known.
func (s *selection) leftOutBlock(b eval.Block) bool {
	return b.Resource != nil && s.LeavesResource(addr.Resource{Module: b.Frame.Addr, Name: b.Resource.Name}) == targeting.LeavesSome
}
