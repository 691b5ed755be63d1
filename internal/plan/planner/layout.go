package planner

import (
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/moves"
	"weir.dev/weir/internal/plan/refgraph"
)

// A layout is the configuration by address: its blocks, and their instances as far as these are
// evaluated.
type layout struct {
	root       *eval.Frame
	tree       *program.Tree
	references func() *refgraph.Of
	removals   func() *program.Removals // the removed blocks of all modules
	circles    func() map[refgraph.Site]int
}

func newLayout(root *eval.Frame, tree *program.Tree) *layout {
	references := sync.OnceValue(func() *refgraph.Of { return refgraph.In(tree) })
	return &layout{
		root: root, tree: tree, references: references, removals: sync.OnceValue(tree.Removals),
		circles: sync.OnceValue(func() map[refgraph.Site]int { return references().Circles() }),
	}
}

// circle numbers the circle of references that a declaration is in, 0 for none.
func (l *layout) circle(at refgraph.Site) int { return l.circles()[at] }

// frame finds a module instance, or nil.
func (l *layout) frame(m addr.Module) *eval.Frame {
	if f := l.within(m); f != nil {
		return f
	}
	return eval.Placed(l.root, m)
}

func (l *layout) within(m addr.Module) *eval.Frame {
	f := l.root
	for _, s := range m.Steps() {
		if f = f.Within(s); f == nil {
			return nil
		}
	}
	return f
}

// standing says whether the configuration has an instance, and if not why.
// It is unsure where instances weren't or couldn't be computed.
func (l *layout) standing(i addr.Instance) (desired bool, why plan.Reason, unsure bool) {
	f := l.root
	for _, s := range i.Module.Steps() {
		call := f.Program.CallByName[s.Call]
		if call == nil {
			return false, plan.DeleteNoResourceConfig, false
		}
		child, known := f.ChildFrame(call, s.Key)
		if !known {
			if l.removed(i) {
				return false, plan.DeleteNoResourceConfig, false
			}
			return false, plan.NoReason, true
		}
		if child == nil {
			if call.Source != nil && len(call.Source.Refs) > 0 {
				return false, plan.DeleteNoModule, false // what it loaded isn't known any more
			}
			// The module may still be called for other instances.
			if t := l.tree.At(i.Module); t == nil || t.Program.ResourceByName[i.Name] == nil {
				return false, plan.DeleteNoResourceConfig, false
			}
			return false, plan.DeleteNoModule, false
		}
		f = child
	}
	res := f.Program.ResourceByName[i.Name]
	if res == nil {
		return false, plan.DeleteNoResourceConfig, false
	}
	found, e, known := f.Lookup(res, i.Key)
	switch {
	case !known:
		return false, plan.NoReason, true
	case found != nil:
		return true, plan.NoReason, false
	}
	return false, missingKey(res, e, i.Key), false
}

// removed reports whether no block declares an instance, whatever the keys of the modules around it are.
func (l *layout) removed(i addr.Instance) bool {
	tree := l.tree
	for n, s := range i.Module.Steps() {
		call := tree.Program.CallByName[s.Call]
		if call == nil {
			return true
		}
		if call.Source != nil && len(call.Source.Refs) > 0 {
			return false // the keys decide what is called
		}
		if tree = l.tree.At(addr.FromSteps(i.Module.Steps()[:n+1])); tree == nil {
			return false
		}
	}
	return tree.Program.ResourceByName[i.Name] == nil
}

func missingKey(res *program.Resource, e eval.Expansion, k addr.Key) plan.Reason {
	_, isInt := k.Int()
	_, isString := k.Str()
	switch {
	case res.Repeat.Enabled != nil && k == addr.NoKey:
		return plan.DeleteEnabledFalse
	case e.Kind == eval.Counted && isInt:
		return plan.DeleteCountIndex
	case e.Kind == eval.Keyed && isString:
		return plan.DeleteEachKey
	}
	return plan.DeleteWrongRepetition
}

// claims implements program.Claims.
func (l *layout) claims(in addr.Module, block *program.Removed, m addr.Module) bool {
	f := l.frame(in)
	return f != nil && eval.Claims(f, block.Call, m)
}

// declares reports whether the configuration has what an end of a statement
// names, and where.
func (l *layout) declares(o moves.Object) (hcl.Range, bool) {
	if (o.Name == addr.Name{}) {
		parent, step, _ := o.Module.Parent()
		f := l.frame(parent)
		if f == nil || f.Program.CallByName[step.Call] == nil {
			return hcl.Range{}, false
		}
		c := f.Program.CallByName[step.Call]
		if o.Whole {
			return c.Range, true
		}
		child, _ := f.ChildFrame(c, step.Key)
		return c.Range, child != nil
	}
	f := l.frame(o.Module)
	if f == nil || f.Program.ResourceByName[o.Name] == nil {
		return hcl.Range{}, false
	}
	res := f.Program.ResourceByName[o.Name]
	if o.Whole {
		return res.Range, true
	}
	i, _, _ := f.Lookup(res, o.Key)
	return res.Range, i != nil
}

// hasBlock reports whether the configuration has a block for what a target names,
// whatever the keys.
func (l *layout) hasBlock(t addr.Target) bool {
	if !t.IsModule() {
		return slices.ContainsFunc(l.blocks(), t.Names)
	}
	trees := []*program.Tree{l.tree}
	for _, s := range t.Module.Steps() {
		var below []*program.Tree
		for _, tree := range trees {
			below = append(below, tree.Of(s.Call)...)
		}
		trees = below
	}
	return len(trees) > 0
}

// blocks are the resources of the configuration without keys.
func (l *layout) blocks() []addr.Resource {
	in := l.references()
	sites := in.Resources()
	list := make([]addr.Resource, len(sites))
	for i, at := range sites {
		list[i] = addr.Resource{Module: in.Path(at.Tree), Name: at.Declaration.(*program.Resource).Name}
	}
	return list
}

// hasInstance reports whether the evaluated configuration has what a target names in
// a module, given the steps to it from there. unsure is for what wasn't expanded.
func (l *layout) hasInstance(f *eval.Frame, steps []addr.Step, t addr.Target) (has, unsure bool) {
	if len(steps) == 0 {
		res := f.Program.ResourceByName[t.Name]
		if t.IsModule() || res == nil || !t.HasKey {
			return t.IsModule() || res != nil, false
		}
		i, _, known := f.Lookup(res, t.Key)
		return i != nil, !known
	}
	call := f.Program.CallByName[steps[0].Call]
	if call == nil {
		return false, false
	}
	if steps[0].Key != addr.NoKey {
		child, known := f.ChildFrame(call, steps[0].Key)
		if child == nil {
			return false, !known
		}
		return l.hasInstance(child, steps[1:], t)
	}
	if len(steps) == 1 && t.IsModule() {
		return true, false
	}
	children := f.Children(call)
	for _, child := range children {
		if h, u := l.hasInstance(child, steps[1:], t); h {
			return true, false
		} else if u {
			unsure = true
		}
	}
	// Without instances the blocks of the module say what could be there.
	return len(children) == 0 && l.hasBlock(t), unsure
}

// circular reports whether a resource that a block of the same module names
// leads back to that block, by whatever instances.
func (l *layout) circular(i *eval.Instance, res *program.Resource) bool {
	tree := l.tree.At(i.Addr.Module)
	circle := l.circle(refgraph.Site{Tree: tree, Declaration: i.Resource})
	return circle != 0 && circle == l.circle(refgraph.Site{Tree: tree, Declaration: res})
}

// checkRemoved reports removed blocks for instances that the configuration
// still has.
func (l *layout) checkRemoved() (diags diag.List) {
	for _, f := range l.root.Frames() {
		for _, block := range f.Program.Removed {
			if !block.From.Keyed() {
				continue // reported without a plan
			}
			o := moves.Object{Module: addr.FromSteps(append(f.Addr.Steps(), block.From.Module.Steps()...)), Name: block.From.Name, Key: block.From.Key}
			if where, still := l.declares(o); still {
				diags.Add(StillThere.Error(block.Range, "%s", "This statement declares a removal of "+o.String()+", but the configuration at "+where.String()+" still has that instance. Take its key out of there, or remove this block."))
			}
		}
	}
	return diags
}
