package event

import (
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// A Tally counts the steps of an apply that people count, as they end. Anything that has
// provisioners has ended when these have.
type Tally struct {
	Total, Done, Failed, Skipped int

	steps []execgraph.Step
	// awaited are the steps whose provisioners haven't ended.
	awaited map[execgraph.ID]bool
}

// Tallied is the tally of a plan of which nothing is done yet.
func Tallied(p *plan.Plan) *Tally {
	t := &Tally{steps: p.Graph.Steps}
	for i := range t.steps {
		switch s := &t.steps[i]; {
		case s.Kind.Counts():
			t.Total++
		case s.Kind == execgraph.Provision:
			if t.awaited == nil {
				t.awaited = map[execgraph.ID]bool{}
			}
			t.awaited[s.Takes[0]] = true
		}
	}
	return t
}

// End takes in what became of a step. It returns the step that has ended thereby for people,
// if one has: for provisioners that is the one that made their object.
func (t *Tally) End(id execgraph.ID, how Ending) (ended execgraph.ID, counted bool) {
	s := &t.steps[id]
	switch {
	case s.Kind == execgraph.Provision:
		id = s.Takes[0]
		if !t.awaited[id] {
			return 0, false // there is nothing to provision
		}
		if how == Skipped {
			how = Done // it is made
		}
	case !s.Kind.Counts() || t.awaited[id] && how == Done:
		return 0, false
	}
	delete(t.awaited, id)
	switch how {
	case Failed:
		t.Failed++
	case Skipped:
		t.Skipped++
	default:
		t.Done++
	}
	return id, true
}

// Ended is how many have ended, in whatever way.
func (t *Tally) Ended() int { return t.Done + t.Failed + t.Skipped }
