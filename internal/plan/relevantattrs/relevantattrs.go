// Package relevantattrs follows references from expressions to attributes of resources, to find the
// attributes that may cause a change or that an output reads.
//
// It goes by what is written, and by the module instances that there are. It doesn't look at
// values.
package relevantattrs

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
)

// Attributes lists the attributes of resources that the configurations of changed
// resources, of forgotten data and the changed outputs of a plan refer to, and what
// those attributes are configured with in turn, through locals, outputs and arguments
// of modules. It goes by what is written: where a key is computed, the reference is to
// the block as a whole. The outputs of modules aren't kept, so they always count as
// changed.
func Attributes(root *eval.Frame, tree *program.Tree, p *plan.Plan, forgotten []addr.Instance) []plan.Attribute {
	c := &relevance{tree: tree, programs: map[addr.Module]*program.Program{}, seen: map[referent]bool{}, followed: map[written]bool{}}
	for _, change := range p.Changes {
		if change.Action != plan.NoOp {
			c.resource(change.Addr.Instance, nil)
		}
	}
	for _, a := range forgotten {
		c.resource(a, nil)
	}
	for _, change := range p.Outputs {
		if o := tree.Program.OutputByName[change.Name]; change.Action != plan.NoOp && o != nil && o.Expr != nil {
			c.add(addr.Root, nil, o.Expr.Refs)
		}
	}
	for _, f := range root.Frames() {
		if f.Parent == nil {
			continue
		}
		for _, o := range f.Program.Outputs {
			if v, _, ok := f.OutputValue(o); ok && o.Expr != nil && !v.IsNull() {
				c.add(f.Addr, nil, o.Expr.Refs)
			}
		}
	}
	for len(c.todo) > 0 {
		next := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		c.follow(next)
	}
	slices.SortFunc(c.list, func(a, b plan.Attribute) int {
		if c := a.Resource.Compare(b.Resource); c != 0 {
			return c
		}
		return value.ComparePaths(a.Path, b.Path)
	})
	return c.list
}

// relevance collects the attributes that references lead to.
type relevance struct {
	tree     *program.Tree
	programs map[addr.Module]*program.Program // nil without one
	list     []plan.Attribute
	seen     map[referent]bool
	followed map[written]bool
	todo     []written
}

// A written is a reference where it is written: in a module. Owner is the resource
// whose configuration has it, where it is to the count or for_each.
type written struct {
	module addr.Module
	ref    *program.Ref
	owner  *program.Resource
}

// A referent is a part of what is declared in a module: the attribute of a
// resource, an output of a call.
type referent struct {
	module      addr.Module
	declaration any
	key         addr.Key
	part        string
}

// fresh reports whether the referent is met for the first time.
func (c *relevance) fresh(r referent) bool {
	met := c.seen[r]
	c.seen[r] = true
	return !met
}

func (c *relevance) add(m addr.Module, owner *program.Resource, refs []*program.Ref) {
	for _, ref := range refs {
		p := written{module: m, ref: ref}
		if ref.Kind == program.RefCount || ref.Kind == program.RefEach {
			if owner == nil {
				continue
			}
			p.owner = owner
		}
		if !c.followed[p] {
			c.followed[p] = true
			c.todo = append(c.todo, p)
		}
	}
}

// program finds what a module instance consists of. The address may lack keys.
func (c *relevance) program(m addr.Module) *program.Program {
	p, ok := c.programs[m]
	if !ok {
		if t := c.tree.At(m); t != nil {
			p = t.Program
		}
		c.programs[m] = p
	}
	return p
}

// resource adds what the part of a resource instance at a path is configured
// with.
func (c *relevance) resource(i addr.Instance, ref *program.Ref) {
	p := c.program(i.Module)
	if p == nil || p.ResourceByName[i.Name] == nil {
		return
	}
	owner := p.ResourceByName[i.Name]
	if ref == nil {
		c.add(i.Module, owner, owner.Config.Refs)
	} else {
		c.add(i.Module, owner, owner.Config.At(ref.Rest))
	}
}

func (c *relevance) follow(at written) {
	ref := at.ref
	computed := ref.Key != nil && constantKey(ref) == addr.NoKey
	switch ref.Kind {
	case program.RefResource:
		a := plan.Attribute{Resource: addr.Resource{Module: at.module, Name: ref.Resource.Name}.Instance(constantKey(ref))}
		if computed {
			whole := *ref
			whole.Rest = nil
			ref = &whole
		}
		a.Path = program.Path(ref.Rest)
		if c.fresh(referent{at.module, ref.Resource, a.Resource.Key, value.PathString(a.Path)}) {
			c.list = append(c.list, a)
			c.resource(a.Resource, ref)
		}
	case program.RefLocal:
		if ref.Local.Expr != nil {
			c.add(at.module, nil, ref.Local.Expr.Refs)
		}
	case program.RefVariable:
		c.argument(at.module, ref.Variable.Name)
	case program.RefCount, program.RefEach:
		if repeat := at.owner.Repeat; repeat.Enabled == nil && repeat.Expr() != nil {
			c.add(at.module, nil, repeat.Expr().Refs)
		}
	case program.RefCall:
		attr := ref.Attr
		if computed {
			attr = ""
		}
		child := at.module.Child(ref.Call.Call, constantKey(ref))
		p := c.program(child)
		if p == nil || !c.fresh(referent{at.module, ref.Call, constantKey(ref), attr}) {
			return
		}
		for _, o := range p.Outputs {
			if (attr == "" || o.Name == attr) && o.Expr != nil {
				c.add(child, nil, o.Expr.Refs)
			}
		}
	}
}

// argument adds what a call gives a variable of its module.
func (c *relevance) argument(m addr.Module, name string) {
	parent, step, ok := m.Parent()
	if !ok {
		return
	}
	p := c.program(parent)
	if p == nil {
		return
	}
	if call := p.CallByName[step.Call]; call != nil {
		if in := call.Input(name); in != nil && in.Expr != nil {
			c.add(parent, nil, in.Expr.Refs)
		}
	}
}

// constantKey is the instance key of a reference where it is written out.
func constantKey(ref *program.Ref) addr.Key {
	if ref.Key == nil || len(program.References(ref.Key)) > 0 {
		return addr.NoKey
	}
	v, hd := ref.Key.Value(nil)
	if hd.HasErrors() {
		return addr.NoKey
	}
	k, err := eval.KeyOf(v)
	if err != nil {
		return addr.NoKey
	}
	return k
}
