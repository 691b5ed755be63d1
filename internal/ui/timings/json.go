package timings

import (
	"math"
	"time"

	"weir.dev/weir/internal/core/trace"
)

// seconds are for programs, to the microsecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e6 }

type (
	stageJSON struct {
		Name      string  `json:"name"`
		Seconds   float64 `json:"seconds"`
		Providers float64 `json:"provider_seconds"`
		States    float64 `json:"state_seconds"`
		Waits     float64 `json:"wait_seconds"`
		Engine    float64 `json:"engine_seconds"`
	}
	callsJSON struct {
		Provider string  `json:"provider"`
		Type     string  `json:"resource_type,omitempty"`
		Method   string  `json:"method,omitempty"`
		Calls    int     `json:"calls"`
		Failed   int     `json:"failed"`
		Total    float64 `json:"total_seconds"`
		Mean     float64 `json:"mean_seconds"`
		Slowest  float64 `json:"slowest_seconds"`
		At       string  `json:"slowest_addr,omitempty"`
		Waited   float64 `json:"wait_seconds"`
	}
	pieceJSON struct {
		Kind     string  `json:"kind"`
		Name     string  `json:"name"`
		Provider string  `json:"provider,omitempty"`
		Type     string  `json:"resource_type,omitempty"`
		At       string  `json:"addr,omitempty"`
		From     float64 `json:"from_seconds"`
		Took     float64 `json:"seconds"`
	}
	pathJSON struct {
		Longest []pieceJSON `json:"longest"`
		Pieces  int         `json:"pieces"`
		Engine  float64     `json:"engine_seconds"`
		Calls   float64     `json:"provider_seconds"`
		States  float64     `json:"state_seconds"`
		Waits   float64     `json:"wait_seconds"`
	}
	reportJSON struct {
		Seconds float64          `json:"seconds"`
		Stages  []stageJSON      `json:"stages"`
		Calls   []callsJSON      `json:"calls"`
		Path    pathJSON         `json:"critical_path"`
		Saved   map[string]int64 `json:"saved"`
	}
)

// JSON is the report for programs. All but the shorter pieces of the critical path is in it.
func (r Report) JSON() any {
	out := reportJSON{Seconds: seconds(r.Whole), Stages: []stageJSON{}, Calls: []callsJSON{}, Path: r.pathJSON(), Saved: map[string]int64{}}
	for _, s := range r.Stages {
		out.Stages = append(out.Stages, stageJSON{stageName(s.Name), seconds(s.Took), seconds(s.Providers), seconds(s.States), seconds(s.Waits), seconds(s.Engine)})
	}
	for _, c := range r.Calls {
		row := callsJSON{
			Provider: c.Provider, Type: c.About, Calls: c.Count, Failed: c.Failed, Total: seconds(c.Total),
			Mean: seconds(c.Mean()), Slowest: seconds(c.Slowest), At: c.At, Waited: seconds(c.Waited),
		}
		if !c.Typed {
			row.Type, row.Method = "", c.About
		}
		out.Calls = append(out.Calls, row)
	}
	for _, s := range r.Saved {
		out.Saved[s.Name] = s.Count
	}
	return out
}

func (r Report) pathJSON() pathJSON {
	var engine, calls, states, waits time.Duration
	for _, p := range r.Path {
		switch p.Kind {
		case trace.Stage:
			engine += p.Took
		case trace.State:
			states += p.Took
		case trace.Wait:
			waits += p.Took
		default:
			calls += p.Took
		}
	}
	longest, _ := r.longest()
	out := pathJSON{Longest: []pieceJSON{}, Pieces: len(r.Path), Engine: seconds(engine), Calls: seconds(calls), States: seconds(states), Waits: seconds(waits)}
	for _, p := range longest {
		kind, name := string(p.Kind), p.Name
		if p.Kind == trace.Stage {
			kind, name = "engine", stageName(p.Name)
		}
		out.Longest = append(out.Longest, pieceJSON{kind, name, p.Provider, p.Type, p.At, seconds(p.From), seconds(p.Took)})
	}
	return out
}
