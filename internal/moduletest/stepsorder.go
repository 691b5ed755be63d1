package moduletest

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// unordered reports the demands on the order of steps that a plan doesn't meet.
func unordered(list []*testfile.Order, p *plan.Plan) diag.List {
	var diags diag.List
	for _, o := range list {
		if o.Replacements {
			diags.Append(replacedLate(o, p))
		} else {
			diags.Append(apart(o, p))
		}
	}
	return diags
}

// apart reports the first two steps that a demand wants one after the other and that
// aren't so.
func apart(o *testfile.Order, p *plan.Plan) diag.List {
	first, then := chosen(o.First, p), chosen(o.Then, p)
	for _, none := range []struct {
		steps testfile.Steps
		found []execgraph.ID
	}{{o.First, first}, {o.Then, then}} {
		if len(none.found) == 0 {
			return diag.List{Unordered.Error(o.Range, "The plan has no step for %q, so it can't be in order. Check the address and the word before it.", none.steps)}
		}
	}
	for _, a := range first {
		after := following(p.Graph, a)
		for _, b := range then {
			if a == b || after[b] {
				continue
			}
			steps := p.Graph.Steps
			if following(p.Graph, b)[a] {
				return diag.List{Unordered.Error(o.Range, "%q comes after %q.", steps[a].Label(), steps[b].Label())}
			}
			return diag.List{Unordered.Error(o.Range, "%q doesn't wait for %q, so apply may do them in any order.", steps[b].Label(), steps[a].Label())}
		}
	}
	return nil
}

// replacedLate reports the first replaced object that is destroyed before its replacement
// exists.
func replacedLate(o *testfile.Order, p *plan.Plan) diag.List {
	made := map[addr.Instance]execgraph.ID{}
	for id := range p.Graph.Steps {
		if s := &p.Graph.Steps[id]; s.Kind == execgraph.Apply {
			made[s.Object.Instance] = execgraph.ID(id)
		}
	}
	found := false
	for id := range p.Graph.Steps {
		s := &p.Graph.Steps[id]
		if s.Kind != execgraph.Destroy || o.Then.Target != nil && !o.Then.Target.Matches(s.Object.Instance) {
			continue
		}
		create, replaced := made[s.Object.Instance]
		if !replaced {
			continue
		}
		found = true
		if !following(p.Graph, create)[id] {
			return diag.List{Unordered.Error(o.Range, "%s is destroyed before its replacement exists. lifecycle { create_before_destroy = true } creates the replacement first.", s.Object)}
		}
	}
	if !found && o.Then.Target != nil {
		return diag.List{Unordered.Error(o.Range, "The plan replaces nothing at %s.", o.Then.Target)}
	}
	return nil
}

// chosen are the steps that a demand is about.
func chosen(of testfile.Steps, p *plan.Plan) []execgraph.ID {
	var list []execgraph.ID
	for id := range p.Graph.Steps {
		s := &p.Graph.Steps[id]
		if s.Object == nil || !of.Target.Matches(s.Object.Instance) || of.Target.Name.Mode != s.Object.Name.Mode && !of.Target.IsModule() {
			continue
		}
		updates := s.Change > 0 && p.Changes[s.Change-1].Action == plan.Update
		does := ""
		switch {
		case s.Kind == execgraph.Apply && updates:
			does = "update"
		case s.Kind == execgraph.Apply:
			does = "create"
		case s.Kind == execgraph.ReadData:
			does = "read"
		case s.Kind == execgraph.Destroy:
			does = "destroy"
		}
		if does != "" && (of.Action == "" || of.Action == does) {
			list = append(list, execgraph.ID(id))
		}
	}
	return list
}

// following are the steps that wait for one, directly or not.
func following(g *execgraph.Graph, step execgraph.ID) []bool {
	after := make([]bool, len(g.Steps))
	for id := int(step) + 1; id < len(g.Steps); id++ {
		for _, a := range g.Steps[id].After {
			after[id] = after[id] || a == step || after[a]
		}
	}
	return after
}
