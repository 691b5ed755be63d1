package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/ui/view/naturalsort"
	"weir.dev/weir/internal/ui/view/progress"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/steptimes"
)

// mostBars is how many rows the timeline has.
const mostBars = 150

// times is when steps ran. Before an apply it is what can be known beforehand: each runs as
// long as such ones usually take, and as soon as what it waits for is over.
type times struct {
	// Lived: it is what happened, beginning At; NotBegun is how many steps weren't.
	Lived    bool
	At       time.Time
	NotBegun int

	Bars []*bar
	Left int
	// Length is how long the longest chain takes, empty where nothing is known.
	Length string
	// Guessed is how many kinds of steps never ran here before.
	Guessed int
}

// A bar is steps that do the same to objects of one block.
type bar struct {
	What, Class string
	Count       int
	Critical    bool // one of them is on the chain that everything waits for
	Failed      int
	Usual       string
	From, Width float64 // in hundredths of the whole
	start, end  float64
	duration    float64
	known       bool
}

// guess is how long a step takes of a kind that never ran, in seconds.
const guess = 1

// timeline plays the steps of a plan.
func timeline(p *plan.Plan, usual progress.Durations) times {
	if p.Graph == nil {
		return times{}
	}
	steps := p.Graph.Steps
	ends, last, lengths := make([]float64, len(steps)), make([]execgraph.ID, len(steps)), make([]float64, len(steps))
	guessed := map[string]bool{}
	whole, latest := 0.0, execgraph.ID(-1)
	for id := range steps {
		s := &steps[id]
		last[id] = -1
		for _, a := range s.After {
			if last[id] < 0 || ends[a] > ends[last[id]] {
				last[id] = a
			}
		}
		if last[id] >= 0 {
			ends[id] = ends[last[id]]
		}
		if s.Kind.Counts() {
			lengths[id] = guess
			if d, known := usual[progress.What(p, s)]; known {
				lengths[id] = max(d.Seconds, 0.001)
			} else {
				guessed[progress.What(p, s)] = true
			}
			ends[id] += lengths[id]
		}
		if latest < 0 || ends[id] > whole {
			whole, latest = ends[id], execgraph.ID(id)
		}
	}
	critical := map[execgraph.ID]bool{}
	for id := latest; id >= 0; id = last[id] {
		critical[id] = true
	}
	t := times{Guessed: len(guessed)}
	byWhat := map[string]*bar{}
	for id := range steps {
		if !steps[id].Kind.Counts() {
			continue
		}
		_, known := usual[progress.What(p, &steps[id])]
		t.take(byWhat, p, &steps[id], ends[id]-lengths[id], ends[id], critical[execgraph.ID(id)], known)
	}
	t.finish(whole, len(usual) > 0)
	return t
}

// lived sets when steps ran in an apply that is over. The critical path is the chain of steps that goes back from the one which ended last.
func lived(p *plan.Plan, took *steptimes.Times) times {
	steps := p.Graph.Steps
	t := times{Lived: true, At: took.At}
	began, last := took.Began(p.Graph)
	latest, whole := execgraph.ID(-1), time.Duration(0)
	shown := func(id int) bool { return steps[id].Kind.Counts() || steps[id].Kind == execgraph.Provision }
	for id, s := range took.Steps {
		if shown(id) && s.Ran() && (latest < 0 || s.End > whole) {
			latest, whole = execgraph.ID(id), s.End
		}
	}
	critical := map[execgraph.ID]bool{}
	for id := latest; id >= 0; id = last[id] {
		critical[id] = true
	}
	byWhat := map[string]*bar{}
	for id, s := range took.Steps {
		if !shown(id) {
			continue
		}
		if !s.Ran() {
			if steps[id].Kind.Counts() {
				t.NotBegun++
			}
			continue
		}
		b := t.take(byWhat, p, &steps[id], began[id].Seconds(), s.End.Seconds(), critical[execgraph.ID(id)], true)
		b.duration = b.end - b.start
		if s.How == event.Failed {
			b.Failed++
			b.Class = "delete" // red, whatever the step did
		}
	}
	t.finish(whole.Seconds(), true)
	return t
}

// A Lived is a timeline of an apply for pages of other packages.
type Lived struct {
	Length   string     `json:"length"`
	NotBegun int        `json:"not_begun"`
	Left     int        `json:"left"` // rows that aren't there
	Bars     []LivedBar `json:"bars"`
}

// A LivedBar is steps that did the same to objects of one block; From and Width are in
// hundredths of the whole.
type LivedBar struct {
	What     string  `json:"what"`
	Class    string  `json:"class"`
	Count    int     `json:"count"`
	Failed   int     `json:"failed"`
	Critical bool    `json:"critical"`
	Took     string  `json:"took"`
	From     float64 `json:"from"`
	Width    float64 `json:"width"`
}

// LivedOf is the timeline of an apply of a plan.
func LivedOf(p *plan.Plan, took *steptimes.Times) Lived {
	t := lived(p, took)
	out := Lived{Length: t.Length, NotBegun: t.NotBegun, Left: t.Left, Bars: []LivedBar{}}
	for _, b := range t.Bars {
		out.Bars = append(out.Bars, LivedBar{b.What, b.Class, b.Count, b.Failed, b.Critical, b.Usual, b.From, b.Width})
	}
	return out
}

// take adds a step to the bar that it belongs to. Provisioners belong to what they are for.
func (t *times) take(byWhat map[string]*bar, p *plan.Plan, s *execgraph.Step, start, end float64, critical, known bool) *bar {
	what, class := s.Kind.String()+" ", "none"
	switch s.Kind {
	case execgraph.Invoke:
		what += p.Invocations[s.Invocation-1].Addr.Resource.Erase().String()
	case execgraph.Destroy:
		what, class = "destroy "+s.Object.Resource.Erase().String(), "delete"
	default:
		if s.Change > 0 {
			class = graphview.Class(p.Changes[s.Change-1].Action)
			if class == "replace" {
				class = "create"
			}
			what = class + " "
		}
		what += s.Object.Resource.Erase().String()
	}
	b := byWhat[what]
	if b == nil {
		b = &bar{What: sanitize.Line(what), Class: class, start: start, end: end, duration: end - start, known: known}
		byWhat[what] = b
		t.Bars = append(t.Bars, b)
	}
	if s.Kind.Counts() {
		b.Count++
	}
	b.start, b.end = min(b.start, start), max(b.end, end)
	b.Critical = b.Critical || critical
	return b
}

// finish sets the bars in their order and to scale.
func (t *times) finish(whole float64, any bool) {
	slices.SortStableFunc(t.Bars, func(a, b *bar) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), naturalsort.Compare(a.What, b.What))
	})
	if len(t.Bars) > mostBars {
		var kept []*bar
		others := mostBars
		for _, b := range t.Bars {
			if b.Critical {
				others--
			}
		}
		for _, b := range t.Bars {
			if !b.Critical {
				if others <= 0 {
					t.Left++
					continue
				}
				others--
			}
			kept = append(kept, b)
		}
		t.Bars = kept
	}
	for _, b := range t.Bars {
		if whole > 0 {
			b.From, b.Width = b.start/whole*100, max((b.end-b.start)/whole*100, 0.5)
			b.From = min(b.From, 100-b.Width)
		}
		if b.known {
			b.Usual = span(b.duration)
		}
	}
	if any && whole > 0 {
		t.Length = span(whole)
	}
}

// span is a duration for people.
func span(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
