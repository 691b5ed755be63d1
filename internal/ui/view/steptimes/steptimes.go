// Package steptimes records when the steps of an apply start and end, for the timeline of the
// apply.
//
// It owns the record and its form. It doesn't know where records are kept, and how they are
// shown.
package steptimes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
)

// Times are when the steps of one apply began and ended.
type Times struct {
	// At is when the apply began.
	At time.Time
	// Steps are by their place in the graph.
	Steps []Step
}

// A Step is when one ran, after the apply began.
type Step struct {
	// Begin is unknown, and zero, where nothing reports the beginning: then the step began
	// when the last it waited for had ended.
	Begin, End time.Duration
	// Ended is false of what was still running, or to be started.
	Ended bool
	How   event.Ending
}

// Ran reports whether a step was started and has ended.
func (s Step) Ran() bool { return s.Ended && (s.How == event.Done || s.How == event.Failed) }

// A Recorder takes in the events of applies and keeps the times of the last one.
type Recorder struct {
	now func() time.Time

	mu    sync.Mutex
	times *Times
}

// Record makes a recorder; now is the clock.
func Record(now func() time.Time) *Recorder { return &Recorder{now: now} }

// Over is a sink that records events and hands them on.
func (r *Recorder) Over(sink event.Sink) event.Sink {
	return func(e event.Event) {
		r.Event(e)
		if sink != nil {
			sink(e)
		}
	}
}

// Event is an event.Sink.
func (r *Recorder) Event(e event.Event) {
	switch e.Kind {
	case event.ApplyBegin, event.ApplyStart, event.ActionStart, event.StepEnd:
	default:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if e.Kind == event.ApplyBegin {
		r.times = &Times{now, make([]Step, len(e.Plan.Graph.Steps))}
		return
	}
	if r.times == nil {
		return
	}
	since := now.Sub(r.times.At)
	if e.Kind == event.StepEnd {
		s := &r.times.Steps[e.Step]
		s.End, s.Ended, s.How = since, true, e.Ending
	} else {
		r.times.Steps[e.Step].Begin = since
	}
}

// Times are those of the last apply; nil without one. No more events may come.
func (r *Recorder) Times() *Times {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.times
}

// A record is the form of the file: of each step when it began and ended, in milliseconds,
// and how; nothing for one that hasn't.
type record struct {
	Version int        `json:"version"`
	Plan    string     `json:"plan"`
	At      time.Time  `json:"at"`
	Steps   [][3]int64 `json:"steps"`
}

const recordVersion = 1

// never is the end of what has none.
const never = -1

// Text is the form for Read.
func (t *Times) Text(p *plan.Plan) []byte {
	r := record{recordVersion, plans(p), t.At.UTC(), make([][3]int64, len(t.Steps))}
	for i, s := range t.Steps {
		if r.Steps[i] = [3]int64{s.Begin.Milliseconds(), s.End.Milliseconds(), int64(s.How)}; !s.Ended {
			r.Steps[i] = [3]int64{0, never, 0}
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil // a time that can't be written
	}
	return append(text, '\n')
}

// Read reads what Text wrote of the same plan; nil for what is of another, or can't be read.
func Read(text []byte, p *plan.Plan) *Times {
	var r record
	if len(text) == 0 || p.Graph == nil || json.Unmarshal(text, &r) != nil || r.Version != recordVersion || len(r.Steps) != len(p.Graph.Steps) || r.Plan != plans(p) {
		return nil
	}
	t := &Times{r.At, make([]Step, len(r.Steps))}
	for i, s := range r.Steps {
		if s[0] < 0 || s[2] < 0 || s[2] > int64(event.Needless) {
			return nil
		}
		if s[1] != never {
			t.Steps[i] = Step{time.Duration(s[0]) * time.Millisecond, time.Duration(s[1]) * time.Millisecond, true, event.Ending(s[2])} // #nosec G115 -- one of them, by the line above
		}
	}
	return t
}

// plans distinguishes a plan from others that the same directory may have had: it was made
// from another state, or does something else.
func plans(p *plan.Plan) string {
	h := fnv.New64a()
	if p.Previous != nil && p.Previous.Lineage != "" {
		fmt.Fprintf(h, "%s %d\n", p.Previous.Lineage, p.Previous.Serial)
	}
	for i := range p.Graph.Steps {
		fmt.Fprintln(h, p.Graph.Steps[i].Label())
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Began is when each step began: as instructed, or else when the last it waited for ended.
// Last is which that was; -1 without.
func (t *Times) Began(g *execgraph.Graph) (began []time.Duration, last []execgraph.ID) {
	began, last = make([]time.Duration, len(t.Steps)), make([]execgraph.ID, len(t.Steps))
	for id := range t.Steps {
		last[id] = -1
		for _, a := range g.Steps[id].After {
			if t.Steps[a].Ended && (last[id] < 0 || t.Steps[a].End > t.Steps[last[id]].End) {
				last[id] = a
			}
		}
		if began[id] = t.Steps[id].Begin; began[id] == 0 && last[id] >= 0 {
			began[id] = t.Steps[last[id]].End
		}
		began[id] = min(began[id], t.Steps[id].End)
	}
	return began, last
}
