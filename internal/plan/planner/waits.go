package planner

import (
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/plan/refgraph"
)

// waits finds what a read has to wait for.
type waits struct {
	options   *Options
	prior     *prior.Prior
	layout    *layout
	selection *selection
	record    *record
	storedIn  func() map[graphbuilder.Block][]addr.Object // the managed objects of each block

	mu    sync.Mutex
	known map[*promise.Node]bool // whether a cell is pending
}

func newWaits(o *Options, p *prior.Prior, l *layout, s *selection, r *record) *waits {
	return &waits{
		options: o, prior: p, layout: l, selection: s, record: r, known: map[*promise.Node]bool{},
		storedIn: sync.OnceValue(func() map[graphbuilder.Block][]addr.Object {
			in := map[graphbuilder.Block][]addr.Object{}
			for a := range p.Snapshot.Objects {
				if a.Name.Mode == addr.Managed {
					for _, b := range graphbuilder.BlocksOf(a.Instance) {
						in[b] = append(in[b], a)
					}
				}
			}
			return in
		}),
	}
}

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
func (w *waits) awaits(t *promise.Task, i *eval.Instance, explicit int) *plan.Awaited {
	var repeats []*program.Ref
	if e := i.Resource.Repeat.Expr(); e != nil {
		repeats = e.Refs
	}
	for _, ref := range refgraph.Block(i.Resource) {
		if ref.Kind != program.RefResource || ref.Resource.Name.Mode != addr.Managed {
			continue
		}
		if cause := w.awaitsNamed(t, i, ref, slices.Contains(repeats, ref)); cause != nil {
			return cause
		}
	}
	deps := t.Current().Deps()
	conditions := len(i.Resource.Preconditions)+len(i.Resource.Postconditions) > 0
	if !conditions {
		deps = deps[:explicit]
	}
	for _, n := range deps {
		if (conditions || !listed(i, n)) && w.pending(n) {
			return w.cause(i, n)
		}
	}
	for _, ref := range i.Resource.DependsOn {
		if cause := w.losesWithin(t, i.Frame, ref); cause != nil {
			return cause
		}
	}
	return nil
}

// awaitsNamed is awaits for one reference to a managed resource. repeats is set for
// those of count and for_each.
func (w *waits) awaitsNamed(t *promise.Task, i *eval.Instance, ref *program.Ref, repeats bool) *plan.Awaited {
	b := eval.Block{Frame: i.Frame, Resource: ref.Resource}
	forced := len(w.options.Targets) == 0 && !w.layout.circular(i, ref.Resource)
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
		if w.record.changes(named) || exact && w.loses(b, func(a addr.Instance) bool { return a == named.Addr }) != nil {
			return &plan.Awaited{Addr: named.Addr, Range: ref.Range}
		}
	}
	if exact {
		return nil
	}
	if lost := w.loses(b, nil); lost != nil {
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
func (w *waits) losesWithin(t *promise.Task, f *eval.Frame, ref *program.Ref) *plan.Awaited {
	if ref.Kind != program.RefCall || ref.Attr != "" {
		return nil
	}
	child := f.NamedCall(t, ref)
	if child == nil {
		return nil
	}
	lost := w.loses(eval.Block{Frame: f, Call: ref.Call}, func(a addr.Instance) bool { return child.Addr.Contains(a.Module) })
	if lost == nil {
		return nil
	}
	return &plan.Awaited{Addr: lost.Instance, Range: ref.Range}
}

// cause is the change that makes a cell pending, found from there down.
func (w *waits) cause(i *eval.Instance, n *promise.Node) *plan.Awaited {
	at := &plan.Awaited{Range: i.Resource.Range}
	for {
		switch s := n.Subject.(type) {
		case *eval.Instance:
			if at.Addr = s.Addr; s.Addr.Name.Mode == addr.Managed && w.record.changes(s) {
				return at
			}
		case eval.Block:
			if lost := w.loses(s, nil); lost != nil {
				at.Addr = lost.Instance
				return at
			}
		}
		below := slices.IndexFunc(n.Deps(), w.pending)
		if below < 0 {
			return at
		}
		n = n.Deps()[below]
	}
}

// pending reports whether a cell, directly or through others, depends on
// something managed that is about to change.
func (w *waits) pending(n *promise.Node) bool {
	w.mu.Lock()
	known, ok := w.known[n]
	w.mu.Unlock()
	if ok {
		return known
	}
	result := slices.ContainsFunc(n.Deps(), w.pending)
	switch s := n.Subject.(type) {
	case *eval.Instance:
		result = result || s.Addr.Name.Mode == addr.Managed && w.record.changes(s)
	case eval.Block:
		result = result || w.loses(s, nil) != nil
	}
	w.mu.Lock()
	w.known[n] = result
	w.mu.Unlock()
	return result
}

// loses returns a stored object of a resource, or in a module, that is neither wanted any more
// nor moved: it will be deleted. Where among is given, only instances that it holds for are
// inspected.
func (w *waits) loses(b eval.Block, among func(addr.Instance) bool) *addr.Object {
	if w.options.Mode != plan.Normal {
		return nil
	}
	for a := range graphbuilder.Leaving(w.storedIn(), b) {
		if (among == nil || among(a.Instance)) && w.leaves(a) {
			return &a
		}
	}
	return nil
}

// leaves reports whether a stored object will be deleted for want of a place. A deposed object has
// lost its place in an earlier run: as with OpenTofu and Terraform no read waits until it is gone.
func (w *waits) leaves(a addr.Object) bool {
	if a.Deposed != "" || !w.selection.chooses(a.Instance) {
		return false
	}
	if _, claimed := w.prior.Owner(a.Instance); claimed || w.prior.Away(a.Instance) {
		return false
	}
	desired, _, unsure := w.layout.standing(a.Instance)
	return !desired && !unsure
}
