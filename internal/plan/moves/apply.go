package moves

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
)

// A Blocked is an object that couldn't move because another one is there.
type Blocked struct {
	From, To addr.Instance
}

// Apply moves all objects of a prior state at once, statement after
// statement. The result maps the addresses of those that moved to their new
// ones. A whole resource or module doesn't move where one exists already.
//
// Statements may share a destination, as those of a module that merges several
// resources do. They are ambiguous only where objects leave more than one of the
// sources: that is an error.
//
// Moves that are blocked are in the order of their addresses. The cost is
// linear in objects and in the moves they make.
func (t *Table) Apply(prior []addr.Instance) (moved map[addr.Instance]addr.Instance, blocked []Blocked, diags diag.List) {
	moved = make(map[addr.Instance]addr.Instance)
	if t.Empty() {
		return moved, nil, nil
	}
	p := newPlaces(t.from, prior)
	arrived := arrivals{}
	for _, s := range t.statements {
		// Anyone who is in the way counts before anything moves, so that the order within a
		// statement doesn't matter.
		var free []addr.Instance
		for _, group := range p.matching(s) {
			diags.Append(arrived.add(s, group[0]))
			if !p.occupied(s, group) {
				free = append(free, group...)
				continue
			}
			for _, o := range group {
				blocked = append(blocked, Blocked{o, s.rewrite(o, s.from, s.to)})
			}
		}
		for _, o := range free {
			p.move(o, s.rewrite(o, s.from, s.to))
		}
	}
	for now, origin := range p.origin {
		if now != origin {
			moved[origin] = now
		}
	}
	slices.SortFunc(blocked, func(a, b Blocked) int { return a.From.Compare(b.From) })
	return moved, blocked, diags
}

// arrivals are the sources whose objects leave for a destination, the first of each.
type arrivals map[Object]arrival

type arrival struct {
	from     Object
	by       *statement
	reported bool
}

// add notes that a statement moves an object, and reports an earlier statement
// that moves objects of another source to the same destination.
func (a arrivals) add(s *statement, o addr.Instance) (diags diag.List) {
	if s.Implied {
		return nil
	}
	from, to := s.ends(addr.FromSteps(o.Module.Steps()[:s.depth]))
	first, ok := a[to]
	switch {
	case !ok:
		a[to] = arrival{from: from, by: s}
		return nil
	case first.from == from || first.reported:
		return nil
	}
	first.reported = true
	a[to] = first
	long, short := from.noun()
	diags.Add(Ambiguous.Error(s.Range, "By the statement at %s %s moves to %s, by this one %s moves there, and both have objects in the state.\n\nA %s can come from one %s only. Remove one of the statements, or move one of the objects elsewhere with \"%s\".",
		start(first.by.Range), first.from, to, from, long, short, diag.Run("state mv", "")))
	return diags
}

// places knows which objects are where at the moment.
type places struct {
	origin    map[addr.Instance]addr.Instance // by present address
	resources map[addr.Resource]int
	modules   map[addr.Module]int
	// leaving finds objects by the patterns that match them.
	leaving map[string]map[addr.Instance]bool
	from    *index
}

func newPlaces(from *index, prior []addr.Instance) *places {
	p := &places{
		make(map[addr.Instance]addr.Instance), make(map[addr.Resource]int),
		make(map[addr.Module]int), make(map[string]map[addr.Instance]bool), from,
	}
	for _, o := range prior {
		if _, twice := p.origin[o]; !twice {
			p.put(o, o)
		}
	}
	return p
}

func (p *places) put(o, origin addr.Instance) {
	p.origin[o] = origin
	p.resources[o.Resource]++
	p.modules[o.Module]++
	for _, name := range p.from.ways(o) {
		if p.leaving[name] == nil {
			p.leaving[name] = make(map[addr.Instance]bool)
		}
		p.leaving[name][o] = true
	}
}

func (p *places) move(from, to addr.Instance) {
	origin := p.origin[from]
	delete(p.origin, from)
	p.resources[from.Resource]--
	p.modules[from.Module]--
	for _, name := range p.from.ways(from) {
		delete(p.leaving[name], from)
	}
	p.put(to, origin)
}

// matching groups the objects that a statement moves by what they move with:
// their module, their resource, or nothing.
func (p *places) matching(s *statement) [][]addr.Instance {
	groups := make(map[addr.Instance][]addr.Instance)
	for o := range p.leaving[s.from.way(s.from.mask())] {
		group := o
		switch {
		case s.from.isModule():
			group = addr.Instance{Resource: addr.Resource{Module: o.Module}}
		case s.whole:
			group = o.Resource.Instance(addr.NoKey)
		}
		groups[group] = append(groups[group], o)
	}
	var sorted [][]addr.Instance
	for _, group := range groups {
		slices.SortFunc(group, addr.Instance.Compare)
		sorted = append(sorted, group)
	}
	slices.SortFunc(sorted, func(a, b []addr.Instance) int { return a[0].Compare(b[0]) })
	return sorted
}

func (p *places) occupied(s *statement, group []addr.Instance) bool {
	to := s.rewrite(group[0], s.from, s.to)
	switch {
	case s.from.isModule():
		return p.modules[to.Module] > 0
	case s.whole:
		return p.resources[to.Resource] > 0
	}
	_, taken := p.origin[to]
	return taken
}
