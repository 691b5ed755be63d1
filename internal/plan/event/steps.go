package event

import (
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/word/addr"
)

// Steps finds the steps of a plan that events tell of.
type Steps struct {
	works       map[effort]execgraph.ID
	invocations map[*plan.Invocation]execgraph.ID
}

type effort struct {
	object addr.Object
	kind   execgraph.Kind
}

// StepsOf are those of a plan that people count.
func StepsOf(p *plan.Plan) Steps {
	s := Steps{make(map[effort]execgraph.ID, len(p.Changes)), map[*plan.Invocation]execgraph.ID{}}
	for id := range p.Graph.Steps {
		switch one := &p.Graph.Steps[id]; {
		case one.Kind == execgraph.Invoke:
			s.invocations[p.Invocations[one.Invocation-1]] = execgraph.ID(id)
		case one.Kind.Counts():
			s.works[effort{one.Object, one.Kind}] = execgraph.ID(id)
		}
	}
	return s
}

// Begun is the step that an event tells the beginning of.
func (s Steps) Begun(e Event) (execgraph.ID, bool) {
	kind := execgraph.Apply
	switch {
	case e.Kind == ActionStart:
		id, known := s.invocations[e.Invocation]
		return id, known
	case e.Kind != ApplyStart:
		return 0, false
	case e.Action == plan.Read:
		kind = execgraph.ReadData
	case e.Action == plan.Delete:
		kind = execgraph.Destroy
	}
	id, known := s.works[effort{e.Addr, kind}]
	return id, known
}
