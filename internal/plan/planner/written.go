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
)

// A place is something in a module instance that references lead to or come from.
type place struct {
	frame *eval.Frame
	// part is an *eval.Instance, a *program.Resource for all its instances, another
	// program.Declaration, or a framePart.
	part any
}

type framePart uint8

const (
	content   framePart = iota // everything in the module instance
	existence                  // what decides that there is one
	element                    // what it is there for, if its call is repeated over another block
)

// written lists the places that the references of a place mean, as they are written, used or
// not. Nothing but the keys of references is evaluated, so no value can fail here.
func written(t *promise.Task, p place) []place {
	f := p.frame
	switch d := p.part.(type) {
	case *eval.Instance:
		return append(writtenIn(t, d), place{f, existence}, place{f, element})
	case *program.Resource:
		return instances(f.Instances(t, d, nil))
	case *program.Provider: // each has a meaning of its own
		return append(namedIn(t, f, nil, refgraph.Block(d)), place{f, existence})
	case program.Declaration:
		list := append(namedIn(t, f, f.Context(t, nil, cty.NilVal), refgraph.Block(d)), place{f, existence})
		if v, ok := d.(*program.Variable); ok && f.Parent != nil {
			if in := f.Call.Input(v.Name); in != nil && in.Expr != nil {
				list = append(list, namedIn(t, f.Parent, f.Parent.Context(t, f.Each, cty.NilVal), in.Expr.Refs)...)
			}
		}
		return list
	}
	if p.part == content {
		return contentOf(t, f)
	}
	if f.Parent == nil {
		return nil
	}
	list, refs := repeated(t, f.Parent, f.Call.Repeat, f.Each.Key)
	if p.part == element {
		return append(list, place{f.Parent, element})
	}
	refs = append(refs, f.Call.DependsOn...)
	for _, p := range f.Call.Providers {
		if p.Outer.Key != nil {
			refs = append(refs, p.Outer.Key.Refs...)
		}
	}
	return append(namedIn(t, f.Parent, f.Parent.Context(t, f.Each, cty.NilVal), refs), place{f.Parent, existence})
}

// repeated lists what the instance of a block with a key is there for, where the block is
// repeated over another one, with the other references of its count or for_each.
func repeated(t *promise.Task, f *eval.Frame, r program.Repeat, k addr.Key) (list []place, rest []*program.Ref) {
	of, child, rest := f.Over(t, r, k)
	switch {
	case of != nil:
		list = []place{{of.Frame, of}}
	case child != nil:
		for _, o := range child.Program.Outputs {
			list = append(list, place{child, o})
		}
	}
	return list, slices.Clone(rest)
}

// writtenIn is written for the block of an instance. Where its count or for_each names all
// instances of another block, it is there for the one with its key.
func writtenIn(t *promise.Task, i *eval.Instance) []place {
	var repeats []*program.Ref
	if e := i.Resource.Repeat.Expr(); e != nil {
		repeats = e.Refs
	}
	list, rest := repeated(t, i.Frame, i.Resource.Repeat, i.Addr.Key)
	others := rest
	for _, ref := range refgraph.Block(i.Resource) {
		if !slices.Contains(repeats, ref) {
			others = append(others, ref)
		}
	}
	return append(list, namedIn(t, i.Frame, i.Context(t, cty.NilVal), others)...)
}

func instances(list []*eval.Instance) []place {
	places := make([]place, len(list))
	for n, i := range list {
		places[n] = place{i.Frame, i}
	}
	return places
}

// namedIn lists what references in a module instance mean where the context is that of their
// expressions.
func namedIn(t *promise.Task, f *eval.Frame, ctx *hcl.EvalContext, refs []*program.Ref) []place {
	var list []place
	for _, ref := range refs {
		switch ref.Kind {
		case program.RefResource:
			if some, exact := f.Named(t, ctx, ref); exact {
				list = append(list, instances(some)...)
			} else {
				list = append(list, place{f, ref.Resource})
			}
		case program.RefLocal:
			list = append(list, place{f, ref.Local})
		case program.RefVariable:
			list = append(list, place{f, ref.Variable})
		case program.RefCall:
			children, _ := f.NamedCalls(t, ctx, ref)
			for _, child := range children {
				if o := child.Program.OutputByName[ref.Attr]; o != nil {
					list = append(list, place{child, o})
				} else {
					list = append(list, place{child, content})
				}
			}
		}
	}
	return list
}

func contentOf(t *promise.Task, f *eval.Frame) []place {
	list := []place{{f, existence}}
	for _, res := range f.Program.Resources {
		list = append(list, place{f, res})
	}
	for _, o := range f.Program.Outputs {
		list = append(list, place{f, o})
	}
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			list = append(list, place{child, content})
		}
	}
	return list
}

// mostMeant is how many instances of one block are listed: beyond that it is meant as a whole,
// so that the lists of all users together stay short.
const mostMeant = 32

// meant are the managed instances that the block of an instance refers to, directly or through
// what isn't managed, by their resources. A resource without a list is meant as a whole.
func meant(rt *promise.Runtime, i *eval.Instance) map[addr.Resource][]addr.Instance {
	all := map[addr.Resource][]addr.Instance{}
	rt.Do(func(t *promise.Task) {
		whole, seen := map[addr.Resource]bool{}, map[place]bool{}
		todo := written(t, place{i.Frame, i})
		for len(todo) > 0 {
			p := todo[len(todo)-1]
			if todo = todo[:len(todo)-1]; seen[p] {
				continue
			}
			seen[p] = true
			switch d := p.part.(type) {
			case *eval.Instance:
				if d.Addr.Name.Mode == addr.Managed {
					of := d.Addr.Resource.Erase()
					all[of] = append(all[of], d.Addr)
					continue
				}
			case *program.Resource:
				if list := p.frame.Instances(t, d, nil); d.Name.Mode == addr.Managed && len(list) > mostMeant {
					whole[addr.Resource{Module: p.frame.Addr, Name: d.Name}.Erase()] = true
					continue
				}
			}
			todo = append(todo, written(t, p)...)
		}
		for of := range whole {
			all[of] = nil
		}
	})
	return all
}
