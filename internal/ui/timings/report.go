package timings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// A Report says where the time of a run went.
type Report struct {
	Whole  time.Duration
	Stages []Stage
	Calls  []Calls
	Path   []Piece
	Saved  []Saving
}

// A Stage is a part of a run; that without a name is what is outside of all others. At
// any moment the first counts of a provider that is asked, a store of states that is, and
// somebody who waits; the rest is the engine's.
type Stage struct {
	Name                                   string
	Took, Providers, States, Waits, Engine time.Duration
}

// Calls are those of one provider about one type, or about nothing.
type Calls struct {
	Provider, About string
	Typed           bool // About is a type
	Count, Failed   int
	Total, Slowest  time.Duration
	At              string // the object of the slowest
	Waited          time.Duration
}

// Mean is how long a call took.
func (c Calls) Mean() time.Duration { return c.Total / time.Duration(max(c.Count, 1)) }

// A Piece is a part of the critical path. That of a stage is the engine's own time.
type Piece struct {
	Kind               trace.Kind
	Name               string
	Provider, Type, At string
	From, Took         time.Duration
}

// what says whose time a piece is, apart from the object.
func (p Piece) what() string {
	switch p.Kind {
	case trace.Stage:
		return "the engine itself, " + stageName(p.Name)
	case trace.State:
		return p.Name
	}
	return strings.Join(strings.Fields(p.Provider+" "+p.Type+" "+p.Name), " ")
}

func stageName(name string) string { return cmp.Or(name, "elsewhere") }

// A Saving is how often something needn't be done.
type Saving struct {
	Name  string
	Count int64
}

// How many rows people are shown.
const (
	mostCalls  = 15
	mostPieces = 10
	mostOthers = 5
)

// Line says the most important in one line.
func (r Report) Line() string {
	var sum Stage
	for _, s := range r.Stages {
		sum.Providers += s.Providers
		sum.States += s.States
		sum.Waits += s.Waits
		sum.Engine += s.Engine
	}
	text := fmt.Sprintf("%s, %s for providers, %s in the engine alone", said(r.Whole), said(sum.Providers), said(sum.Engine))
	if sum.States > 0 {
		text += fmt.Sprintf(", %s for the state", took(sum.States))
	}
	if sum.Waits > 0 {
		text += fmt.Sprintf(", %s waiting", took(sum.Waits))
	}
	return text
}

// Text is the report for people.
func (r Report) Text(pen ansi.Pen) string {
	var b strings.Builder
	head := func(title, columns string) {
		fmt.Fprintf(&b, "\n%s\n", pen.Paint(title, ansi.Bold))
		if columns != "" {
			fmt.Fprintln(&b, pen.Paint(columns, ansi.Gray))
		}
	}
	fmt.Fprintf(&b, "\n%s %s\n", pen.Paint("Where the time went:", ansi.Bold), r.Line())

	head("Stages", "      took  providers     state     waits    engine")
	for _, s := range r.Stages {
		fmt.Fprintf(&b, "%10s %10s %9s %9s %9s  %s\n", took(s.Took), took(s.Providers), took(s.States), took(s.Waits), took(s.Engine), sanitize.Line(stageName(s.Name)))
	}
	if len(r.Calls) > 0 {
		head("Calls of providers", "     calls      total      mean   slowest    waited")
		r.calls(&b)
	}
	head("The critical path", "        at       took")
	r.path(&b)
	var saved []string
	for i, s := range r.Saved {
		if s.Count > 0 {
			saved = append(saved, fmt.Sprintf("%10d  %s\n", s.Count, savings[i].text))
		}
	}
	if len(saved) > 0 {
		head("Saved", "")
		b.WriteString(strings.Join(saved, ""))
	}
	return b.String()
}

func (r Report) calls(b *strings.Builder) {
	shown := r.Calls[:min(len(r.Calls), mostCalls)]
	for _, c := range shown {
		text := strings.TrimSpace(c.Provider + " " + c.About)
		if c.At != "" && c.Count > 1 {
			text += ", slowest " + c.At
		}
		if c.Failed > 0 {
			text += fmt.Sprintf(" (%d failed)", c.Failed)
		}
		fmt.Fprintf(b, "%10d %10s %9s %9s %9s  %s\n", c.Count, took(c.Total), took(c.Mean()), took(c.Slowest), took(c.Waited), sanitize.Line(text))
	}
	var rest Calls
	for _, c := range r.Calls[len(shown):] {
		rest.Count += c.Count
		rest.Total += c.Total
		rest.Waited += c.Waited
		rest.Slowest = max(rest.Slowest, c.Slowest)
	}
	if more := len(r.Calls) - len(shown); more > 0 {
		fmt.Fprintf(b, "%10d %10s %9s %9s %9s  %d more rows\n", rest.Count, took(rest.Total), took(rest.Mean()), took(rest.Slowest), took(rest.Waited), more)
	}
}

// longest are the longest pieces of the path in their order, and the others.
func (r Report) longest() (list, others []Piece) {
	order := make([]int, len(r.Path))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Path[b].Took, r.Path[a].Took) })
	shown := make([]bool, len(r.Path))
	for _, i := range order[:min(len(order), mostPieces)] {
		shown[i] = true
	}
	for i, p := range r.Path {
		if shown[i] {
			list = append(list, p)
		} else {
			others = append(others, p)
		}
	}
	return list, others
}

// path shows the longest pieces in their order, and sums of the others.
func (r Report) path(b *strings.Builder) {
	type sum struct {
		what string
		n    int
		took time.Duration
	}
	others := map[string]*sum{}
	longest, shorter := r.longest()
	for _, p := range longest {
		what := p.what()
		if p.At != "" {
			what = p.At + ": " + p.Name
		}
		at := took(p.From)
		if p.From == 0 {
			at = "0"
		}
		fmt.Fprintf(b, "%10s %10s  %s\n", at, took(p.Took), sanitize.Line(what))
	}
	for _, p := range shorter {
		o := others[p.what()]
		if o == nil {
			o = &sum{what: p.what()}
			others[p.what()] = o
		}
		o.n++
		o.took += p.Took
	}
	list := make([]*sum, 0, len(others))
	for _, o := range others {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *sum) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.what, b.what)) })
	var rest sum
	for i, o := range list {
		if i < mostOthers {
			fmt.Fprintf(b, "%10s %10s  %d shorter: %s\n", "", took(o.took), o.n, sanitize.Line(o.what))
			continue
		}
		rest.n += o.n
		rest.took += o.took
	}
	if rest.n > 0 {
		fmt.Fprintf(b, "%10s %10s  %d others\n", "", took(rest.took), rest.n)
	}
}

// said is a time in a sentence.
func said(d time.Duration) string {
	if d == 0 {
		return "nothing"
	}
	return took(d)
}

// took is a time for people.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Microsecond:
		return "<0.01 ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
