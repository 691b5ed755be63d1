package impact

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// A Part is the part of a state that a plan of what was chosen is about.
type Part struct {
	State *state.Snapshot
	// LeftOut are the objects that aren't in it, nil without.
	LeftOut *plan.LeftOut
	// Outputs are those that aren't in it, which stay as they are.
	Outputs []*plan.OutputChange
	// Due are the names of those that are to be inspected or planned again: without any, the
	// part is that of the choice.
	Due map[string]bool
}

// Part is what is chosen of a state, after Begin was notified of looks. Objects of external
// providers are always due: these may be others from one plan to the next.
func (c *Choice) Part(s *state.Snapshot, l *freshness.Looks, external map[addr.Provider]bool) Part {
	part := *s
	part.Objects, part.Outputs = map[addr.Object]*state.Object{}, map[string]state.Output{}
	p := Part{State: &part, Due: map[string]bool{}}
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	c.record.ledger = c.record.over(c.record.ledger, s, l.Known())
	var rest []addr.Object
	p.LeftOut, rest = c.record.ledger.without(c.chosen, c.gone)
	for _, at := range rest {
		part.Objects[at] = s.Objects[at]
	}
	c.record.ledger.due(l, external, func(u *unit) {
		if u != nil && !c.chosen[u] && !c.gone[u] {
			for _, name := range u.Declares {
				p.Due[name] = true
			}
		}
	})
	for name, o := range s.Outputs {
		if c.leaves("output."+name) == nil {
			part.Outputs[name] = o
			continue
		}
		p.Outputs = append(p.Outputs, &plan.OutputChange{Name: name, Action: plan.NoOp, Before: o.Value, After: o.Value, Sensitive: o.Sensitive, BeforeSensitive: o.Sensitive})
	}
	return p
}

// After is the record after a plan of what was chosen: nil where nothing can be known any
// more, and c's where that holds as it is. Anything that wasn't edited and is to change
// nevertheless, because its provider says so by now, was resolved too early.
func (c *Choice) After(p *plan.Plan, diags diag.List) *Record {
	told, ok := toldIn(diags)
	if !ok {
		return nil
	}
	busy := busyIn(p)
	wrong := map[*unit]bool{}
	for _, w := range c.written {
		w.each(func(u *unit, begin, end int) {
			if c.chosen[u] && !c.edited[u] && (told.within(w.file.Name, begin, end) || slices.ContainsFunc(u.Declares, func(name string) bool { return busy[name] })) {
				wrong[u] = true
			}
		})
	}
	if len(wrong) == 0 {
		return c.record
	}
	r := newRecord(c.record.Under, c.record.at, len(c.record.bySum))
	for _, f := range c.record.files {
		into := filed{name: f.name, sum: f.sum}
		for _, u := range f.units {
			next := *u
			next.settled = next.settled && !wrong[u]
			into.units = append(into.units, r.add(&next))
		}
		r.files = append(r.files, into)
	}
	return r
}
