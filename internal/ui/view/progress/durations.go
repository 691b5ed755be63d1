package progress

import (
	"encoding/json"
	"time"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// Durations are how long steps took, by what is done: "TYPE ACTION", such as
// "aws_instance create".
type Durations map[string]Duration

// A Duration is a mean.
type Duration struct {
	Seconds float64 `json:"seconds"`
	// Runs is how many steps it is the mean of, recently.
	Runs int `json:"runs"`
}

// How many steps a mean goes by at most: what was long ago counts less and less. Those of one
// run are more alike than those of several.
const (
	remembered = 20
	ofOneRun   = 100
)

// add takes a further step into a mean of at most so many.
func (d Durations) add(what string, took time.Duration, most int) {
	old := d[what]
	n := min(old.Runs+1, most)
	d[what] = Duration{old.Seconds + (took.Seconds()-old.Seconds)/float64(n), n}
}

// record is the form of the file.
type record struct {
	Version   int       `json:"version"`
	Durations Durations `json:"durations"`
}

const recordVersion = 1

// ReadDurations reads what MarshalJSON wrote. Anything that can't be read is no experience.
func ReadDurations(text []byte) Durations {
	var r record
	if json.Unmarshal(text, &r) != nil || r.Version != recordVersion || r.Durations == nil {
		return Durations{}
	}
	for what, d := range r.Durations {
		if d.Seconds < 0 || d.Runs < 1 {
			delete(r.Durations, what)
		}
	}
	return r.Durations
}

// Text is the form for ReadDurations.
func (d Durations) Text() []byte {
	text, err := json.MarshalIndent(record{recordVersion, d}, "", "  ")
	if err != nil {
		return nil // numbers that aren't any
	}
	return append(text, '\n')
}

// What is done by a step of a plan that people count, as durations are noted by.
func What(p *plan.Plan, s *execgraph.Step) string {
	switch s.Kind {
	case execgraph.Apply:
		action := plan.Create
		if s.Change > 0 && p.Changes[s.Change-1].Action == plan.Update {
			action = plan.Update
		}
		return s.Object.Name.Type + " " + action.String()
	case execgraph.Invoke:
		return p.Invocations[s.Invocation-1].Addr.Name.Type + " invoke"
	}
	return s.Object.Name.Type + " " + s.Kind.String()
}
