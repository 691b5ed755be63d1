package targeting

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// Name finds the resources that patterns name, of the configuration and of the prior
// state. A pattern that names none is an error: it was meant to name something.
func (s *Scope) Name(prior *state.Snapshot) (diags diag.List) {
	for _, t := range slices.Concat(s.Targets, s.Excludes) {
		if !t.IsPattern() {
			continue
		}
		named, others := map[addr.Resource]bool{}, map[addr.Resource]bool{}
		if s.part != nil {
			for _, at := range s.part.references.Resources() {
				r := s.part.resource(at)
				named[r] = t.Names(r)
				others[r] = true
			}
		}
		for at := range prior.Objects {
			r := at.Resource.Erase()
			named[r] = named[r] || t.Matches(at.Instance)
			others[r] = true
		}
		one := plan.Named{Pattern: t}
		for r, is := range named {
			if is {
				one.Resources = append(one.Resources, r)
			}
		}
		if len(one.Resources) == 0 {
			where := "Neither the configuration nor the state has a"
			if s.part == nil {
				where = "The state has no"
			}
			diags.Add(diag.NoInstance.As("Nothing matches "+t.String()).New(diag.Error, "%s %s that the pattern names. %s", where, t.Kind(), t.Choices(slices.Collect(maps.Keys(others)))))
		}
		slices.SortFunc(one.Resources, addr.Resource.Compare)
		s.Named = append(s.Named, one)
	}
	return diags
}

// mostShown is how many instances a message names.
const mostShown = 10

// Unpicked reports patterns of targets that name resources of a plan and, for their keys,
// none of the instances.
func (s *Scope) Unpicked(p *plan.Plan) (diags diag.List) {
	for _, n := range p.Named {
		t := n.Pattern
		matches := func(c *plan.Change) bool { return t.Matches(c.Addr.Instance) }
		if !t.Picks() || len(s.Targets) == 0 || slices.ContainsFunc(p.Changes, matches) ||
			slices.ContainsFunc(p.Deferred, func(d *plan.Deferred) bool { return matches(d.Change) }) {
			continue
		}
		var there []string
		for _, at := range p.Previous.Addresses() {
			if slices.Contains(n.Resources, at.Resource.Erase()) {
				there = append(there, at.String())
			}
		}
		has := "none of these resources"
		if len(there) > 0 {
			has = strings.Join(there[:min(len(there), mostShown)], ", ")
		}
		if more := len(there) - mostShown; more > 0 {
			has += fmt.Sprintf(" and %d more", more)
		}
		diags.Add(diag.NoInstance.As("Nothing matches "+t.String()).New(diag.Error, "There are resources that the pattern names, but no instance of them has such keys. The state has %s.", has))
	}
	return diags
}
