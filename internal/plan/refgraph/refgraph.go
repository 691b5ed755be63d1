// Package refgraph finds the static references of declarations, whatever their values:
// within modules, through calls, and through provider configurations.
//
// It owns these paths. Instances make no difference to it, and it rejects states and values.
package refgraph

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/order"
)

// Of has what declarations refer to. This is what -target and -exclude go by, and what a
// data source waits for; instances make no difference to it.
type Of struct {
	callers map[*program.Tree]caller
	imports map[Site][]reading
	to      map[Site][]Site
}

// A caller is where the call of a module is. path has the names of the calls
// that lead to the module, without keys.
type caller struct {
	tree *program.Tree // nil for the root
	call *program.Call
	path addr.Module
}

// A site is a declaration in a module, or one of the parts of a module.
type Site struct {
	Tree        *program.Tree
	Declaration any
}

// The parts of a module that can be depended on.
type part uint8

const (
	expansion part = iota // that there is the module: its repetition and depends_on
	content               // everything in it
)

// A reading is a list of references in the module where they are written.
type reading struct {
	tree *program.Tree
	refs []*program.Ref
}

// In reads the references of a configuration.
func In(root *program.Tree) *Of {
	s := &Of{callers: map[*program.Tree]caller{}, imports: map[Site][]reading{}, to: map[Site][]Site{}}
	s.add(root, caller{path: addr.Root})
	return s
}

func (s *Of) add(t *program.Tree, by caller) {
	s.callers[t] = by
	for _, im := range t.Program.Imports {
		refs := append(refsOf(im.ForEach), refsOf(im.ID, im.Identity, im.ToKey)...)
		refs = append(refs, refsOf(im.ModuleKeys...)...)
		for _, below := range descend(t, im.To.Module.Steps()) {
			if res := below.Program.ResourceByName[im.To.Name]; res != nil {
				s.imports[Site{below, res}] = append(s.imports[Site{below, res}], reading{t, refs})
			}
		}
	}
	for _, c := range t.Program.Calls {
		for _, child := range t.Of(c.Call) {
			s.add(child, caller{t, c, by.path.Child(c.Call, addr.NoKey)})
		}
	}
}

// descend lists the trees that calls lead to.
func descend(t *program.Tree, steps []addr.Step) []*program.Tree {
	if len(steps) == 0 {
		return []*program.Tree{t}
	}
	var list []*program.Tree
	for _, child := range t.Of(steps[0].Call) {
		list = append(list, descend(child, steps[1:])...)
	}
	return list
}

func refsOf(list ...*program.Expr) []*program.Ref {
	var refs []*program.Ref
	for _, e := range list {
		if e != nil {
			refs = append(refs, e.Refs...)
		}
	}
	return refs
}

// Site lists what a site refers to.
func (s *Of) Site(at Site) []Site {
	if list, ok := s.to[at]; ok {
		return list
	}
	list := s.find(at)
	s.to[at] = list
	return list
}

func (s *Of) find(at Site) []Site {
	t, by := at.Tree, s.callers[at.Tree]
	switch d := at.Declaration.(type) {
	case part:
		if d == content {
			return contentOf(t)
		}
		if by.tree == nil {
			return nil
		}
		refs := append(refsOf(by.call.Repeat.Expr()), by.call.DependsOn...)
		for _, p := range by.call.Providers {
			refs = append(refs, refsOf(p.Outer.Key)...)
		}
		return append(s.named(by.tree, refs), Site{by.tree, expansion})
	case *program.Resource:
		list := append(s.named(t, Block(d)), Site{t, expansion})
		list = append(list, s.Imports(at)...)
		if p, ok := s.Provider(t, d.Provider); ok {
			list = append(list, p)
		}
		return list
	case *program.Variable:
		list := append(s.named(t, Block(d)), Site{t, expansion})
		if by.tree != nil {
			if in := by.call.Input(d.Name); in != nil {
				list = append(list, s.named(by.tree, refsOf(in.Expr))...)
			}
		}
		return list
	case program.Declaration:
		return append(s.named(t, Block(d)), Site{t, expansion})
	}
	panic("planner: a site of no kind")
}

// Block are all references that are written in a declaration, but those that nobody asks for
// before the object is destroyed.
func Block(d program.Declaration) []*program.Ref {
	var refs []*program.Ref
	d.Parts(func(p program.Part) {
		if !p.AtDestroy {
			refs = append(refs, p.References()...)
		}
	})
	return refs
}

// contentOf is everything in a module.
func contentOf(t *program.Tree) []Site {
	list := []Site{{t, expansion}}
	for _, r := range t.Program.Resources {
		list = append(list, Site{t, r})
	}
	for _, v := range t.Program.Variables {
		list = append(list, Site{t, v})
	}
	for _, o := range t.Program.Outputs {
		list = append(list, Site{t, o})
	}
	for _, child := range t.Calls() {
		list = append(list, Site{child, content})
	}
	return list
}

// named are the sites that references in a module name.
func (s *Of) named(t *program.Tree, refs []*program.Ref) []Site {
	var list []Site
	for _, ref := range refs {
		switch ref.Kind {
		case program.RefResource:
			list = append(list, Site{t, ref.Resource})
		case program.RefLocal:
			list = append(list, Site{t, ref.Local})
		case program.RefVariable:
			list = append(list, Site{t, ref.Variable})
		case program.RefCall:
			for _, child := range t.Of(ref.Call.Call) {
				if o := child.Program.OutputByName[ref.Attr]; o != nil {
					list = append(list, Site{child, o})
				} else {
					list = append(list, Site{child, content})
				}
			}
		}
	}
	return list
}

// Imports are what the import blocks of a resource refer to.
func (s *Of) Imports(at Site) []Site {
	var list []Site
	for _, im := range s.imports[at] {
		list = append(list, s.named(im.tree, im.refs)...)
	}
	return list
}

// Provider is the configuration that a use in a module means, as
// eval.Frame.ProviderOf finds it.
func (s *Of) Provider(t *program.Tree, use program.ProviderUse) (Site, bool) {
	inherited := false
	for {
		by := s.callers[t]
		for _, p := range t.Program.Providers {
			if p.Provider == use.Provider && p.Alias == use.Alias && (!inherited || use.Alias == "") &&
				(by.tree == nil || by.call.Passed(p.LocalName, p.Alias) == nil) {
				return Site{t, p}, true
			}
		}
		if by.tree == nil || inherited && use.Alias != "" {
			return Site{}, false
		}
		passed := by.call.Passed(use.LocalName, use.Alias)
		if inherited = passed == nil; inherited {
			use.LocalName = by.tree.Program.LocalName(use)
		} else {
			use = passed.Outer
		}
		t = by.tree
	}
}

// Resources lists those of all modules.
func (s *Of) Resources() []Site {
	var list []Site
	for t := range s.callers {
		for _, r := range t.Program.Resources {
			list = append(list, Site{t, r})
		}
	}
	return list
}

// Providers lists the provider configurations of all modules.
func (s *Of) Providers() []Site {
	var list []Site
	for t := range s.callers {
		for _, p := range t.Program.Providers {
			list = append(list, Site{t, p})
		}
	}
	return list
}

// Closure is the sites and all that they refer to, directly or through others.
func (s *Of) Closure(from []Site) map[Site]bool {
	return reach(from, s.Site)
}

// Leading is the sites that lead to one of the given ones, these included as
// far as another of them leads there.
func (s *Of) Leading(to map[Site]bool, among []Site) map[Site]bool {
	users := map[Site][]Site{}
	for at := range s.Closure(among) {
		for _, d := range s.Site(at) {
			users[d] = append(users[d], at)
		}
	}
	var first []Site
	for at := range to {
		first = append(first, users[at]...)
	}
	return reach(first, func(at Site) []Site { return users[at] })
}

// reach is what can be reached in any number of steps.
func reach(from []Site, next func(Site) []Site) map[Site]bool {
	set := map[Site]bool{}
	todo := slices.Clone(from)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !set[at] {
			set[at] = true
			todo = append(todo, next(at)...)
		}
	}
	return set
}

// Path has the names of the calls that lead to a module, without keys.
func (s *Of) Path(t *program.Tree) addr.Module { return s.callers[t].path }

// Circles numbers, from 1, the circles that sites are in.
func (s *Of) Circles() map[Site]int {
	var all []Site
	number := map[Site]int{}
	for at := range s.Closure(s.Resources()) {
		number[at] = len(all)
		all = append(all, at)
	}
	edges := make([][]int, len(all))
	for n, at := range all {
		for _, to := range s.Site(at) {
			edges[n] = append(edges[n], number[to])
		}
	}
	in := map[Site]int{}
	for n, circle := range order.Circles(edges) {
		for _, member := range circle {
			in[all[member]] = n + 1
		}
	}
	return in
}

// Nearest are the managed resources, sorted, that a resource leads to directly or by way
// of what isn't a managed resource.
func (s *Of) Nearest(t *program.Tree, own *program.Resource) []addr.Resource {
	managed := func(at Site) *program.Resource {
		res, ok := at.Declaration.(*program.Resource)
		if !ok || res == own || res.Name.Mode != addr.Managed {
			return nil
		}
		return res
	}
	var list []addr.Resource
	for at := range reach([]Site{{t, own}}, func(at Site) []Site {
		if managed(at) != nil {
			return nil
		}
		return s.Site(at)
	}) {
		if res := managed(at); res != nil {
			list = append(list, addr.Resource{Module: s.Path(at.Tree), Name: res.Name})
		}
	}
	slices.SortFunc(list, addr.Resource.Compare)
	return list
}
