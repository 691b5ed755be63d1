package why

import (
	"slices"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
)

// waits lists the nearest steps on objects that the change's own steps wait
// for.
func (e *explainer) waits(c *plan.Change) []Wait {
	g := e.in.Plan.Graph
	if g == nil {
		return nil
	}
	var list []Wait
	seen := map[string]bool{}
	for id := range g.Steps {
		own := &g.Steps[id]
		if !works(own.Kind) || own.At().Instance != c.Addr.Instance || c.Addr.Deposed != "" && own.At() != c.Addr {
			continue
		}
		for _, other := range nearest(g, execgraph.ID(id)) {
			w := Wait{Own: own.Label(), For: other.step.Label()}
			if key := w.Own + " " + w.For; seen[key] {
				continue
			} else {
				seen[key] = true
			}
			edge, chain := e.rule(execgraph.ID(id), other)
			w.Rule, w.Value, w.Chain = string(edge.Reason), edge.Value, chain
			list = append(list, w)
		}
	}
	return list
}

// works reports whether steps of the kind work on an object for its own sake.
func works(k execgraph.Kind) bool {
	switch k {
	case execgraph.Finalize, execgraph.Apply, execgraph.Destroy, execgraph.ReadData, execgraph.Forget, execgraph.Depose, execgraph.OpenEphemeral,
		execgraph.Provision, execgraph.ProvisionDestroy, execgraph.Condition:
		return true
	}
	return false
}

// A before is a step that another waits for, perhaps because a provider is
// opened with its result.
type before struct {
	id   execgraph.ID
	step *execgraph.Step
	via  string // the provider
}

// nearest are the steps on objects that a step waits for, looking through
// gates and providers, in the order of the graph.
func nearest(g *execgraph.Graph, from execgraph.ID) []before {
	type visit struct {
		id  execgraph.ID
		via string
	}
	found := map[execgraph.ID]before{}
	seen := map[execgraph.ID]bool{}
	var queue []visit
	push := func(ids []execgraph.ID, via string) {
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				queue = append(queue, visit{id, via})
			}
		}
	}
	push(g.Steps[from].After, "")
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		s := &g.Steps[v.id]
		if works(s.Kind) {
			found[v.id] = before{v.id, s, v.via}
			continue
		}
		via := v.via
		if s.Kind == execgraph.OpenProvider {
			via = s.Provider.String()
		}
		push(s.After, via)
	}
	ids := make([]execgraph.ID, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	list := make([]before, len(ids))
	for i, id := range ids {
		list[i] = found[id]
	}
	return list
}

// rule is why a step waits for another, with the references that lead there.
func (e *explainer) rule(id execgraph.ID, other before) (edges.Edge, Chain) {
	if other.via != "" {
		return edges.Edge{Reason: edges.Provider}, nil
	}
	edge := e.in.Edges.Edge(id, other.id)
	var chain Chain
	for n := range edge.References {
		hop := &edge.References[n]
		chain = append(chain, Link{Kind: kinds()[hop.Kind], Subject: hop.To, Range: hop.Range.Ptr()})
	}
	return edge, chain
}

// kinds are the links that references make.
func kinds() map[program.RefKind]Kind {
	return map[program.RefKind]Kind{
		program.RefResource: Change, program.RefLocal: Local, program.RefVariable: Variable, program.RefCall: Output, program.RefOutput: Output,
	}
}
