package planner

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/plan/targeting"
)

// leavesOut reports whether -exclude leaves an instance as it is: it is excluded, or one of
// its references means an instance that is left out. References count as they are written,
// used or not. Nothing but their keys is evaluated, so values that don't fit an unchanged
// object can't fail here.
func (r *run) leavesOut(t *promise.Task, i *eval.Instance) bool {
	if len(r.Excludes) == 0 {
		return false
	}
	out := false
	// These reads order nothing and defer no other read.
	t.Try(func(t *promise.Task) { out = r.excluded.instance(t, i) })
	return out
}

// An exclusion finds what needs an excluded instance. Declarations that can't need one, by
// their blocks, are never entered, nor are those in a circle of blocks, which are left out
// whole. So following references ends.
type exclusion struct {
	*run
	known map[any]bool // by what was entered, guarded by the run's mutex
}

// A place is a declaration in a module instance, or one of its parts.
type place struct {
	frame *eval.Frame
	part  any // a program.Declaration, content or existence
}

type framePart uint8

const (
	content   framePart = iota // everything in it
	existence                  // what decides that there is one
)

// once answers for a key only once.
func (x *exclusion) once(key any, find func() bool) bool {
	x.mu.Lock()
	out, known := x.known[key]
	x.mu.Unlock()
	if known {
		return out
	}
	out = find()
	x.mu.Lock()
	x.known[key] = out
	x.mu.Unlock()
	return out
}

// leaves is what is known of a declaration without its instances.
func (x *exclusion) leaves(at refgraph.Site) targeting.Leaving {
	leaves := x.scope.Leaves(at)
	if leaves == targeting.LeavesSome && x.circle(at) != 0 {
		return targeting.LeavesAll
	}
	return leaves
}

func (x *exclusion) instance(t *promise.Task, i *eval.Instance) bool {
	if !x.scope.Wants(i.Addr) {
		return true
	}
	at := refgraph.Site{Tree: x.Tree.At(i.Addr.Module), Declaration: i.Resource}
	if leaves := x.leaves(at); leaves != targeting.LeavesSome {
		return leaves == targeting.LeavesAll
	}
	return x.once(i, func() bool {
		var repeats []*program.Ref
		if e := i.Resource.Repeat.Expr(); e != nil {
			repeats = e.Refs
		}
		ctx := i.Context(t, cty.NilVal)
		for _, ref := range refgraph.Block(i.Resource) {
			if ref.Kind == program.RefResource {
				list, _ := i.Named(t, ref, slices.Contains(repeats, ref))
				if x.any(t, list) {
					return true
				}
			} else if x.reference(t, i.Frame, ctx, ref) {
				return true
			}
		}
		references := x.references()
		if slices.ContainsFunc(references.Imports(at), func(to refgraph.Site) bool {
			return x.scope.Leaves(to) != targeting.LeavesNone || x.scope.ExcludesSome(to)
		}) {
			return true
		}
		if p, ok := references.Provider(at.Tree, i.Resource.Provider); ok {
			for f := i.Frame; f != nil; f = f.Parent {
				if x.Tree.At(f.Addr) == p.Tree {
					if x.declaration(t, f, p.Declaration.(*program.Provider)) {
						return true
					}
					break
				}
			}
		}
		return x.exists(t, i.Frame)
	})
}

func (x *exclusion) any(t *promise.Task, list []*eval.Instance) bool {
	return slices.ContainsFunc(list, func(i *eval.Instance) bool { return x.instance(t, i) })
}

// exists reports whether what decides that there is a module instance is left out.
func (x *exclusion) exists(t *promise.Task, f *eval.Frame) bool {
	if f.Parent == nil {
		return false
	}
	return x.once(place{f, existence}, func() bool {
		refs := slices.Clone(f.Call.DependsOn)
		if e := f.Call.Repeat.Expr(); e != nil {
			refs = append(refs, e.Refs...)
		}
		for _, p := range f.Call.Providers {
			if p.Outer.Key != nil {
				refs = append(refs, p.Outer.Key.Refs...)
			}
		}
		return x.written(t, f.Parent, f.Each, refs) || x.exists(t, f.Parent)
	})
}

// written reports whether one of the references that are written in a module instance means
// something left out. each is what it says there.
func (x *exclusion) written(t *promise.Task, f *eval.Frame, each *eval.Each, refs []*program.Ref) bool {
	ctx := f.Context(t, each, cty.NilVal)
	return slices.ContainsFunc(refs, func(ref *program.Ref) bool { return x.reference(t, f, ctx, ref) })
}

func (x *exclusion) reference(t *promise.Task, f *eval.Frame, ctx *hcl.EvalContext, ref *program.Ref) bool {
	switch ref.Kind {
	case program.RefResource:
		if at := (refgraph.Site{Tree: x.Tree.At(f.Addr), Declaration: ref.Resource}); x.leaves(at) == targeting.LeavesNone && !x.scope.ExcludesSome(at) {
			return false
		}
		list, _ := f.Named(t, ctx, ref)
		return x.any(t, list)
	case program.RefLocal:
		return x.declaration(t, f, ref.Local)
	case program.RefVariable:
		return x.declaration(t, f, ref.Variable)
	case program.RefCall:
		children := f.Calls(t, ref.Call, nil)
		if one := f.NamedCall(t, ctx, ref); one != nil {
			children = []*eval.Frame{one}
		}
		for _, child := range children {
			o := child.Program.OutputByName[ref.Attr]
			if o != nil && x.declaration(t, child, o) || o == nil && x.content(t, child) {
				return true
			}
		}
	}
	return false
}

// declaration reports whether a value, or a provider configuration, of a module instance needs
// something left out.
func (x *exclusion) declaration(t *promise.Task, f *eval.Frame, d program.Declaration) bool {
	if leaves := x.leaves(refgraph.Site{Tree: x.Tree.At(f.Addr), Declaration: d}); leaves != targeting.LeavesSome {
		return leaves == targeting.LeavesAll
	}
	return x.once(place{f, d}, func() bool {
		if v, ok := d.(*program.Variable); ok && f.Parent != nil {
			if in := f.Call.Input(v.Name); in != nil && in.Expr != nil && x.written(t, f.Parent, f.Each, in.Expr.Refs) {
				return true
			}
		}
		return x.written(t, f, nil, refgraph.Block(d)) || x.exists(t, f)
	})
}

// content reports whether anything in a module instance is left out.
func (x *exclusion) content(t *promise.Task, f *eval.Frame) bool {
	return x.once(place{f, content}, func() bool {
		for _, res := range f.Program.Resources {
			at := refgraph.Site{Tree: x.Tree.At(f.Addr), Declaration: res}
			if (x.leaves(at) != targeting.LeavesNone || x.scope.ExcludesSome(at)) && x.any(t, f.Instances(t, res, nil)) {
				return true
			}
		}
		for _, o := range f.Program.Outputs {
			if x.declaration(t, f, o) {
				return true
			}
		}
		for _, c := range f.Program.Calls {
			if slices.ContainsFunc(f.Calls(t, c, nil), func(child *eval.Frame) bool { return x.content(t, child) }) {
				return true
			}
		}
		return x.exists(t, f)
	})
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
