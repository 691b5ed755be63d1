package simtest

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// demanded deals with a plan that can't work in this cloud: it has to warn, and the way out
// has to be one. It returns the step with that; nothing without one to try.
func (r *runner) demanded(step Step, p *plan.Plan, diags diag.List, list []conflict) (*Step, *Failure) {
	r.stats.Demanded++
	warned := ""
	for _, d := range diags {
		if d.Severity == diag.Warning && d.Summary == "Replaced object is still in use" {
			warned += d.Detail
		}
	}
	if step.Model == nil {
		return nil, nil
	}
	changed, helped := step.Model.Clone(), false
	for _, c := range p.Changes {
		if c.Action != plan.DeleteThenCreate || !strings.Contains(warned, "resource block of "+c.Addr.Resource.Erase().String()+":") {
			continue
		}
		if o := changed.declares(c.Addr.Instance); o != nil && !o.CBD {
			o.CBD, helped = true, true
		}
	}
	if !helped {
		return nil, r.fail("no way out", "%s is deleted while %s, which is updated, uses it\nwarned: %s\n%s", list[0].deleted, list[0].user, warned, printed(p))
	}
	step.Model = changed
	return &step, nil
}

// A conflict is a deletion that comes before an update lets go of what is
// deleted. Without a user nothing in the plan does so.
type conflict struct{ deleted, user addr.Object }

// conflicts finds the deletions in a plan that the cloud has to reject.
//
// Of a plan for a part, or one with deferred changes, users that aren't in it
// count too.
func (w *World) conflicts(p *plan.Plan, partial bool) []conflict {
	partial = partial || len(p.Deferred) > 0
	byID := map[string]*plan.Change{}
	for _, c := range p.Changes {
		if c.Addr.Name.Mode == addr.Managed && !c.Before.IsNull() {
			byID[text(unmark(c.Before), "id")] = c
		}
	}
	var list []conflict
	for _, id := range w.Cloud.IDs() {
		c := byID[id]
		if c == nil || c.Action != plan.Delete && c.Action != plan.DeleteThenCreate && c.Action != plan.CreateThenDelete {
			continue
		}
		for _, user := range w.Cloud.users(id) {
			u := byID[user]
			if partial && (u == nil || u.Action == plan.NoOp) {
				list = append(list, conflict{deleted: c.Addr})
				continue
			}
			if c.Action == plan.CreateThenDelete || u == nil || u.Action != plan.Update || ordered(p.Graph, u.Addr, c.Addr) {
				continue
			}
			if w.blame(p, c) != nil {
				list = append(list, conflict{c.Addr, u.Addr})
			}
		}
	}
	return list
}

// blame finds the delete-then-create replacement that a deletion has to come
// before; nil when there is no excuse.
func (w *World) blame(p *plan.Plan, c *plan.Change) *plan.Change {
	if c.Action == plan.DeleteThenCreate {
		return c
	}
	stored := p.Previous.Objects[addr.Object{Instance: c.Previous(), Deposed: c.Addr.Deposed}]
	for _, dep := range p.Changes {
		if stored != nil && dep.Action == plan.DeleteThenCreate && slices.Contains(stored.Dependencies, dep.Previous().Resource.Erase()) {
			return dep
		}
	}
	return nil
}

// ordered reports whether the first object's creation or update comes before
// the deletion of the second.
func ordered(g *execgraph.Graph, update, deleted addr.Object) bool {
	before := make([]bool, len(g.Steps))
	for id, s := range g.Steps {
		before[id] = s.Kind == execgraph.Apply && s.At() == update
		for _, a := range s.After {
			before[id] = before[id] || before[a]
		}
		if s.Kind == execgraph.Destroy && s.At() == deleted {
			return before[id]
		}
	}
	return false
}
