package apply

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// progress is how far the steps are, and what they have left.
type progress struct {
	givers  givers
	changes map[addr.Instance]*plan.Change // of current objects that no step gives a value

	mu      sync.Mutex
	steps   []stepState
	stopped bool
	cut     bool // something wasn't done because the run was stopped
}

// newProgress is that of a plan of which nothing is done.
func newProgress(p *plan.Plan) *progress {
	steps := p.Graph.Steps
	g := &progress{givers: giversIn(steps), changes: map[addr.Instance]*plan.Change{}, steps: make([]stepState, len(steps))}
	for id := range steps {
		g.steps[id].waiting = len(steps[id].After)
		for _, a := range steps[id].After {
			g.steps[a].next = append(g.steps[a].next, execgraph.ID(id))
		}
	}
	for _, c := range p.Changes {
		if _, given := g.givers.of(&c.Addr.Instance); !given && c.Addr.Deposed == "" {
			g.changes[c.Addr.Instance] = c
		}
	}
	return g
}

// stepState is how far a step is.
type stepState struct {
	waiting int
	next    []execgraph.ID
	failed  bool // or skipped because of a failure
	ended   bool
	diags   diag.List // written by the step alone, read when all have ended
	outcome outcome   // complete when the step has ended, its value maybe earlier
}

// An outcome is what a step leaves for those that take it up, and for references to the
// instance that it is about.
type outcome struct {
	value      cty.Value // of the instance; NilVal where the step has failed, or gives none
	final      *finalized
	made       *created
	unanswered bool // the provider was asked and didn't say what it made
	nothing    bool // there was nothing to change in the end
	halted     bool // nothing was started, because the run was stopped meanwhile
	aside      *state.Object
	lease      *providerclient.Lease
}

// value is what the step that gives an instance its value has given so far, NilVal for nothing.
func (p *progress) value(id execgraph.ID) (v cty.Value, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[id].outcome.value, p.steps[id].ended
}

// halt keeps new steps from starting.
func (p *progress) halt() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
}

// halted reports whether nothing is to be started any more.
func (p *progress) halted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = p.cut || p.stopped
	return p.stopped
}

// turn decides about a step whose prerequisites have ended. Done means that the step runs now;
// any other ending skips it. A step that runs only after a failure is needless without one.
func (p *progress) turn(s *step) event.Ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.When == execgraph.OnFailure && !p.steps[s.Of].failed {
		return event.Needless
	}
	if p.stopped && s.Kind != execgraph.Gate && s.Kind != execgraph.Output && !s.Kind.Closes() {
		p.cut = true
		return event.Skipped
	}
	if s.When == execgraph.OnSuccess {
		for _, a := range s.After {
			if p.steps[a].failed {
				return event.Skipped
			}
		}
	}
	return event.Done
}

// outcome is what the step of that kind has left which a step takes up; nothing where
// there is no such step.
func (p *progress) outcome(s *step, kind execgraph.Kind) *outcome {
	for _, id := range s.Takes {
		if p.givers.steps[id].Kind == kind {
			return &p.steps[id].outcome
		}
	}
	return &outcome{}
}

// give lets references to the instance of a step have their value.
func (p *progress) give(out *outcome, v cty.Value) {
	p.mu.Lock()
	out.value = v
	p.mu.Unlock()
}

// end notes that a step has ended, and returns what waited only for it.
func (p *progress) end(id execgraph.ID, failed bool) (ready []execgraph.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := &p.steps[id]
	st.failed, st.ended = failed, true
	for _, n := range st.next {
		if p.steps[n].waiting--; p.steps[n].waiting == 0 {
			ready = append(ready, n)
		}
	}
	return ready
}
