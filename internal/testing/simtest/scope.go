package simtest

import (
	"maps"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
)

// scoped checks that a plan with -target or -exclude touches nothing outside.
// With targets these are, at most, the blocks that the targeted ones refer to as
// they are written: what check blocks, outputs and their conditions refer to
// doesn't count.
func (r *runner) scoped(step Step, p *plan.Plan) *Failure {
	m := step.Model
	if m == nil || step.Destroy || len(p.Targets)+len(p.Excludes) == 0 {
		return nil
	}
	chosen := func(o *Object) bool {
		return slices.ContainsFunc(p.Targets, func(t addr.Target) bool { return m.names(t, o) })
	}
	allowed := m.reach(chosen)
	for i := range m.Modules { // a module without objects is called all the same
		called := Object{Label: "any", Name: "any", Module: m.Modules[i].Label}
		if chosen(&called) {
			for _, label := range m.refersTo(&called) {
				maps.Copy(allowed, m.reach(func(o *Object) bool { return o.Label == label }))
			}
		}
	}
	for _, c := range p.Changes {
		if c.Action == plan.NoOp || c.Addr.Name.Mode == addr.Ephemeral {
			continue
		}
		matches := func(t addr.Target) bool { return t.Matches(c.Addr.Instance) }
		o := m.declares(c.Addr.Instance)
		switch {
		case c.Reason == plan.ReadCheckNested && len(p.Targets) > 0:
			// It may be in a module that a target depends on as a whole.
		case slices.ContainsFunc(p.Excludes, matches):
			return r.fail("an excluded object is touched", "%s: %s\n%s", c.Addr, c.Action, printed(p))
		case len(p.Targets) == 0 || slices.ContainsFunc(p.Targets, matches):
		case o == nil || !allowed[o.Label]:
			return r.fail("an object outside of the targets is touched", "%s: %s\n%s", c.Addr, c.Action, printed(p))
		}
	}
	return nil
}

// names reports whether an address may name an instance of an object.
func (m *Model) names(t addr.Target, o *Object) bool {
	path := ""
	for mod := m.module(o.Module); mod != nil && mod != &m.Modules[0]; mod = m.module(mod.Parent) {
		path = "module." + mod.Name + "." + path
	}
	i, err := addr.ParseInstance(path + m.address(o))
	t.Module, t.HasKey = t.Module.Erase(), false
	return err == nil && t.Matches(i)
}

// reach is the labels of the chosen objects and of all that these may refer to,
// through modules and provider configurations too.
func (m *Model) reach(chosen func(*Object) bool) map[string]bool {
	set := map[string]bool{}
	var todo []string
	for i := range m.Objects {
		if o := &m.Objects[i]; chosen(o) {
			todo = append(todo, o.Label)
		}
	}
	for len(todo) > 0 {
		label := todo[0]
		todo = todo[1:]
		o, _ := m.object(label)
		if o == nil || set[label] {
			continue
		}
		set[label] = true
		todo = append(todo, m.refersTo(o)...)
	}
	return set
}

// refersTo lists what an object may refer to.
func (m *Model) refersTo(o *Object) []string {
	list := slices.Concat(o.DependsOn, o.TriggeredBy, []string{o.Repeat.To})
	for _, ref := range o.Refs {
		list = append(list, ref.To)
	}
	for _, ref := range []*Ref{o.Parent, o.ValueFrom, o.Secret} {
		if ref != nil {
			list = append(list, ref.To)
		}
	}
	aliases := []string{o.Other}
	for mod := m.module(o.Module); mod != nil && mod != &m.Modules[0]; mod = m.module(mod.Parent) {
		list = append(list, mod.Repeat.To)
		for _, other := range mod.DependsOn {
			list = append(list, m.inside(other)...)
		}
		aliases = append(aliases, mod.Other)
	}
	for _, alias := range aliases {
		for needed, label := range m.Endpoint {
			if alias != "" && (needed == alias || needed == "password of "+alias) {
				list = append(list, label)
			}
		}
	}
	// All outputs of a repeated module are read at once, and depends_on of what
	// is in a module is one of the module.
	for _, label := range list {
		to, _ := m.object(label)
		if to == nil {
			continue
		}
		for mod := m.module(to.Module); mod != nil && mod != &m.Modules[0]; mod = m.module(mod.Parent) {
			if mod.Repeat.Kind != "" || slices.Contains(o.DependsOn, label) {
				list = append(list, m.inside(mod.Label)...)
			}
		}
	}
	return list
}

// inside lists the objects in a module and below.
func (m *Model) inside(label string) []string {
	var list []string
	for _, o := range m.Objects {
		if m.within(o.Module, label) {
			list = append(list, o.Label)
		}
	}
	return list
}
