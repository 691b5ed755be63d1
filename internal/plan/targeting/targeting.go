// Package targeting applies -target and -exclude to a configuration and a state: what a plan
// changes, what it leaves unchanged, and what a plan to destroy includes.
//
// It owns these questions, so that nobody else looks at the addresses. It doesn't evaluate
// anything.
package targeting

import (
	"maps"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/refgraph"
)

// A Scope answers what a plan is about.
//
// With targets, their instances are evaluated and whatever these ask for. With
// exclusions, everything is but the excluded instances and those that need one of
// them. Then the plan is closed: root
// outputs that lead to nothing left out are evaluated, from what is planned and
// what is there, and nothing is planned for their sake. Check blocks aren't
// evaluated at all, their data sources only where they are targets themselves.
type Scope struct {
	Targets, Excludes []addr.Target
	// Named is what those that are patterns name, see Name.
	Named []plan.Named
	tree  *program.Tree
	part  *part
}

// A part is a scope that isn't everything, as references are written.
type part struct {
	references *refgraph.Of
	// leftOut are the declarations that lead to a block with all its instances excluded,
	// mayLeaveOut the others that lead to a block with excluded instances, and excluded
	// these blocks.
	leftOut, mayLeaveOut, excluded map[refgraph.Site]bool
	// outputs are the root outputs that the plan covers.
	outputs []*program.Output
	// within are the declarations that the plan is about.
	within map[refgraph.Site]bool
}

// New is the scope of a plan. One to destroy goes by the state, so that nothing of the
// configuration is left out: it gives no references.
func New(tree *program.Tree, targets, excludes []addr.Target, read func() *refgraph.Of) *Scope {
	s := &Scope{Targets: targets, Excludes: excludes, tree: tree}
	if !s.Whole() && read != nil {
		s.part = s.read(read())
	}
	return s
}

// Whole reports whether the plan is about everything.
func (s *Scope) Whole() bool { return len(s.Targets)+len(s.Excludes) == 0 }

// IsPart reports whether only a part of the configuration is evaluated.
func (s *Scope) IsPart() bool { return s.part != nil }

// Covers reports whether the plan is about a declaration.
func (s *Scope) Covers(at refgraph.Site) bool { return s.part == nil || s.part.within[at] }

// Outputs are the root outputs that the plan of a part covers.
func (s *Scope) Outputs() []*program.Output { return s.part.outputs }

// read finds what the addresses make of the configuration.
func (s *Scope) read(in *refgraph.Of) *part {
	p := &part{references: in}
	all := in.Resources()
	named, missing := map[refgraph.Site]bool{}, map[refgraph.Site]bool{}
	for _, at := range all {
		if slices.ContainsFunc(slices.Concat(s.Targets, s.Excludes), func(t addr.Target) bool { return t.Names(p.resource(at)) }) {
			named[at] = true
		}
	}
	if len(s.Targets) > 0 {
		covered := in.Closure(slices.Collect(maps.Keys(named)))
		for _, at := range all {
			if !covered[at] {
				missing[at] = true
			}
		}
	} else {
		whole := map[refgraph.Site]bool{}
		for at := range named {
			if s.excludesAll(p.resource(at)) {
				whole[at] = true
			}
		}
		from := append(all, in.Providers()...)
		p.excluded, p.leftOut, p.mayLeaveOut = named, in.Leading(whole, from), in.Leading(named, from)
		maps.DeleteFunc(p.mayLeaveOut, func(at refgraph.Site, _ bool) bool { return p.leftOut[at] })
		for _, at := range all {
			if p.leftOut[at] || whole[at] {
				missing[at] = true
			}
		}
	}
	p.cover(s.tree, all, missing)
	var first []refgraph.Site
	for _, at := range all {
		if !missing[at] {
			first = append(first, at)
		}
	}
	for _, o := range p.outputs {
		first = append(first, refgraph.Site{Tree: s.tree, Declaration: o})
	}
	p.within = in.Closure(first)
	return p
}

// cover finds the outputs that lead to resources, and to none that is missing.
func (p *part) cover(root *program.Tree, all []refgraph.Site, missing map[refgraph.Site]bool) {
	var outputs []refgraph.Site
	for _, o := range root.Program.Outputs {
		outputs = append(outputs, refgraph.Site{Tree: root, Declaration: o})
	}
	some := map[refgraph.Site]bool{}
	for _, at := range all {
		some[at] = true
	}
	leads, lacks := p.references.Leading(some, outputs), p.references.Leading(missing, outputs)
	for _, at := range outputs {
		if leads[at] && !lacks[at] {
			p.outputs = append(p.outputs, at.Declaration.(*program.Output))
		}
	}
}

// resource is the address of a resource of the configuration, without keys.
func (p *part) resource(at refgraph.Site) addr.Resource {
	return addr.Resource{Module: p.references.Path(at.Tree), Name: at.Declaration.(*program.Resource).Name}
}

// excludesAll reports whether all instances of a resource are excluded.
func (s *Scope) excludesAll(res addr.Resource) bool {
	return slices.ContainsFunc(s.Excludes, func(t addr.Target) bool {
		return !t.HasKey && t.Matches(res.Erase().Instance(addr.NoKey))
	})
}

// Wants reports whether the addresses given with -target and -exclude, by
// themselves, let an instance be dealt with.
func (s *Scope) Wants(i addr.Instance) bool { return addr.Wanted(s.Targets, s.Excludes, i) }

// Targeted reports whether a target names an instance.
func (s *Scope) Targeted(i addr.Instance) bool {
	for _, t := range s.Targets {
		if t.Matches(i) {
			return true
		}
	}
	return false
}

// A Leaving says how -exclude leaves out the instances of a declaration.
type Leaving uint8

const (
	LeavesNone Leaving = iota
	LeavesSome         // those that need an excluded instance
	LeavesAll
)

// LeavesResource reports how -exclude leaves out the instances of a resource, for what its
// block refers to.
func (s *Scope) LeavesResource(res addr.Resource) Leaving {
	if s.part == nil || len(s.part.excluded) == 0 {
		return LeavesNone
	}
	tree := s.tree.At(res.Module)
	if tree == nil {
		return LeavesNone
	}
	return s.Leaves(refgraph.Site{Tree: tree, Declaration: tree.Program.ResourceByName[res.Name]})
}

// Leaves reports how -exclude leaves out what a declaration makes, for what it refers to.
func (s *Scope) Leaves(at refgraph.Site) Leaving {
	switch {
	case s.part == nil:
	case s.part.leftOut[at]:
		return LeavesAll
	case s.part.mayLeaveOut[at]:
		return LeavesSome
	}
	return LeavesNone
}

// ExcludesSome reports whether -exclude names instances of a resource.
func (s *Scope) ExcludesSome(at refgraph.Site) bool { return s.part != nil && s.part.excluded[at] }

// PassesOver reports whether -target names other instances of the same block. Then
// those are meant, also where something else needs more of them.
func (s *Scope) PassesOver(i addr.Instance) bool {
	return len(s.Targets) > 0 && !s.Targeted(i) && slices.ContainsFunc(s.Targets, func(t addr.Target) bool { return t.Names(i.Resource) })
}

// LeavesOutProvider reports whether a provider configuration refers to something
// that -exclude leaves out.
func (s *Scope) LeavesOutProvider(p addr.ProviderConfig) bool {
	if s.part == nil {
		return false
	}
	tree := s.tree.At(p.Module)
	return tree != nil && slices.ContainsFunc(tree.Program.Providers, func(decl *program.Provider) bool {
		return decl.Provider == p.Provider && decl.Alias == p.Alias && s.Leaves(refgraph.Site{Tree: tree, Declaration: decl}) != LeavesNone
	})
}

// MayChoose reports whether some instance of the resource may be chosen.
func (s *Scope) MayChoose(res addr.Resource) bool {
	if len(s.Targets) > 0 {
		return s.Targeted(res.Instance(addr.AnyKey))
	}
	return !s.excludesAll(res) && s.LeavesResource(res) != LeavesAll
}

// MayTargetBelow reports whether something in an instance of the call, whose
// address has the key Any, may be targeted.
func (s *Scope) MayTargetBelow(m addr.Module) bool {
	return slices.ContainsFunc(s.Targets, func(t addr.Target) bool { return t.Reaches(m) })
}
