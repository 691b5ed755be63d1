// Package rebase carries a plan over to a later state that differs only in parts that the plan
// hasn't read.
//
// It owns what a plan has read in the state it was made from, and what its apply writes there.
// It doesn't plan again: a plan whose parts have changed is stale.
package rebase

import (
	"cmp"
	"maps"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

// Onto returns the plan for a later state, whose other parts its apply keeps. If the plan has
// read parts that differ by now, changed has their addresses in order, and the plan is nil. A
// part that became what the plan itself found is no difference.
func Onto(p *plan.Plan, now *state.Snapshot) (onto *plan.Plan, changed []string) {
	before := cmp.Or(p.Previous, state.Empty()).Clone()
	start := cmp.Or(p.Refreshed, state.Empty()).Clone()
	read := scopeOf(p)
	for _, at := range union(before.Objects, now.Objects, addr.Object.Compare) {
		was, is, found := before.Objects[at], now.Objects[at], start.Objects[at]
		switch {
		case same(was, is) || same(is, found):
		case read.object(at, is) || !same(was, found):
			changed = append(changed, at.String())
		default:
			replace(before.Objects, at, is, is != nil)
			replace(start.Objects, at, is, is != nil)
		}
	}
	for _, name := range union(before.Outputs, now.Outputs, cmp.Compare[string]) {
		was, had := before.Outputs[name]
		is, has := now.Outputs[name]
		switch {
		case had == has && (!has || statefile.SameOutput(was, is)):
		case read.output(name):
			changed = append(changed, "output."+name)
		default:
			replace(before.Outputs, name, is, has)
			replace(start.Outputs, name, is, has)
		}
	}
	if len(changed) > 0 {
		return nil, changed
	}
	next := *p
	next.Previous, next.Refreshed = before, start
	return &next, nil
}

// union are the keys of two maps in order.
func union[K comparable, V any](a, b map[K]V, order func(K, K) int) []K {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.SortedFunc(maps.Keys(all), order)
}

func replace[K comparable, V any](all map[K]V, key K, v V, there bool) {
	if there {
		all[key] = v
	} else {
		delete(all, key)
	}
}

func same(a, b *state.Object) bool {
	return a == b || a != nil && b != nil && statefile.SameObject(a, b)
}

// A scope is what a plan has read in the state.
type scope struct {
	plan    *plan.Plan
	whole   bool
	read    map[addr.Instance]bool
	outputs map[string]bool
	ending  map[addr.Resource]bool // those with instances that the plan ends
}

func scopeOf(p *plan.Plan) *scope {
	s := &scope{
		plan: p, whole: len(p.Targets)+len(p.Excludes) == 0,
		read: map[addr.Instance]bool{}, outputs: map[string]bool{}, ending: map[addr.Resource]bool{},
	}
	for _, i := range p.Scope {
		s.read[i] = true
	}
	for _, o := range p.Outputs {
		s.outputs[o.Name] = true
	}
	for _, c := range p.Changes {
		if c.Action == plan.Delete || c.Action == plan.Forget || c.Action.IsReplace() {
			s.ending[c.Addr.Resource.Erase()] = true
		}
	}
	return s
}

// object reports whether a plan has read an object, or would have read the one that is there now. A plan
// searches all that it was limited to for objects without configuration, and all users of what
// it ends.
func (s *scope) object(at addr.Object, is *state.Object) bool {
	return s.whole || s.read[at.Instance] || addr.Wanted(s.plan.Targets, s.plan.Excludes, at.Instance) ||
		is != nil && slices.ContainsFunc(is.Dependencies, func(r addr.Resource) bool { return s.ending[r] })
}

func (s *scope) output(name string) bool { return s.whole || s.outputs[name] }

// Parts are the parts of the state that the apply of a plan with Targets or Excludes writes, and
// those that it only reads, in order: addresses of instances, and outputs as "output.NAME".
func Parts(p *plan.Plan) (write, read []string) {
	before, start := cmp.Or(p.Previous, state.Empty()), cmp.Or(p.Refreshed, state.Empty())
	writes := map[string]bool{}
	note := func(part string, change bool) { writes[part] = writes[part] || change }
	for _, i := range p.Scope {
		note(i.String(), false)
	}
	for _, c := range p.Changes {
		change := c.Action != plan.NoOp || c.Moved()
		note(c.Addr.Instance.String(), change)
		note(c.Previous().String(), change)
	}
	for _, at := range union(before.Objects, start.Objects, addr.Object.Compare) {
		drops := p.Mode == plan.Destroy && at.Name.Mode == addr.Data && addr.Wanted(p.Targets, p.Excludes, at.Instance)
		if drops || !same(before.Objects[at], start.Objects[at]) {
			note(at.Instance.String(), true)
		}
	}
	for _, o := range p.Outputs {
		note("output."+o.Name, o.Action != plan.NoOp)
	}
	for _, part := range slices.Sorted(maps.Keys(writes)) {
		if writes[part] {
			write = append(write, part)
		} else {
			read = append(read, part)
		}
	}
	return write, read
}
