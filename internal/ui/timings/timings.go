// Package timings reports where the time of a run went: by stage, by type of provider calls,
// and along the critical path.
//
// It owns how the spans of a run become that table. It doesn't know commands, and measures
// nothing itself.
package timings

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/trace"
)

// A mark is what is kept of a span, in times since the beginning.
type mark struct {
	kind              trace.Kind
	name              string
	id, parent        trace.SpanID
	from, to          time.Duration
	provider, typ, at string
	failed            bool
}

// A Watch collects the spans of a run.
type Watch struct {
	now    func() time.Time
	begun  time.Time
	before map[string]int64

	mu    sync.Mutex
	marks []mark
}

// Begin looks at all that is done with the resulting context.
func Begin(ctx context.Context, now func() time.Time) (context.Context, *Watch) {
	w := &Watch{now: now, begun: now(), before: metrics.Counts()}
	var last atomic.Uint64
	run := &trace.Run{Now: now, Ended: w.ended, NewID: func() (id trace.SpanID) {
		binary.BigEndian.PutUint64(id[:], last.Add(1))
		return id
	}}
	return run.Watch(ctx), w
}

func (w *Watch) ended(s *trace.Span) {
	m := mark{kind: s.Kind, name: s.Name, id: s.ID, parent: s.Parent, failed: s.Failed, from: s.Start.Sub(w.begun), to: s.Stop.Sub(w.begun)}
	for _, f := range s.Facts {
		text, _ := f.Value.(string)
		switch f.Name {
		case trace.Provider:
			m.provider = short(text)
		case trace.Type:
			m.typ = text
		case trace.Address:
			m.at = text
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, m)
}

// short is the type of a provider by the name of its program.
func short(name string) string {
	if program, ok := strings.CutPrefix(name, "terraform-provider-"); ok {
		name, _, _ = strings.Cut(program, "_")
		name = strings.TrimSuffix(name, ".exe")
	}
	return name
}

// End reports where the time went until now. Anything that ends later isn't counted.
func (w *Watch) End() Report {
	whole := w.now().Sub(w.begun)
	w.mu.Lock()
	marks := slices.Clone(w.marks)
	w.mu.Unlock()
	saved := metrics.Counts()
	for name, n := range w.before {
		saved[name] -= n
	}
	return report(marks, whole, saved)
}

// report makes the tables of marks.
func report(marks []mark, whole time.Duration, counts map[string]int64) Report {
	starts := map[trace.SpanID]bool{}
	for _, m := range marks {
		if m.kind == trace.Start {
			starts[m.id] = true
		}
	}
	// The first calls to a process are a part of that.
	marks = slices.DeleteFunc(marks, func(m mark) bool {
		return m.kind == trace.Command || m.kind == trace.Call && starts[m.parent]
	})
	slices.SortStableFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.to, b.to), last(a, b), cmp.Compare(b.from, a.from), cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
	})
	r := Report{Whole: whole, Stages: stages(marks, whole), Calls: calls(marks), Path: path(marks, whole)}
	for _, s := range savings {
		r.Saved = append(r.Saved, Saving{s.name, counts[s.counter]})
	}
	return r
}

// last puts waits after what ends at the same time: that is why they end.
func last(a, b mark) int {
	switch wait := trace.Wait; {
	case a.kind == wait && b.kind != wait:
		return 1
	case b.kind == wait && a.kind != wait:
		return -1
	}
	return 0
}

// savings are the counters of what needn't be done, by the names that programs know.
var savings = []struct{ name, counter, text string }{
	{"schemas_remembered", "known", "providers weren't asked what they declare: it was remembered"},
	{"processes_kept", "kept", "processes of providers weren't started: a running one continued"},
	{"calls_batched", "batched", "calls weren't made: other calls had their questions too"},
	{"data_shared", "shared", "data sources weren't read: another with equal arguments was"},
	{"objects_unread", "unread", "objects weren't read: -refresh=false, -refresh=auto or -minimal-refresh left them out"},
	{"objects_listed", "listed", "objects weren't read each by itself: lists had them unchanged"},
}

// stages are the parts of the run in the order in which they began, and last what is
// outside of all.
func stages(marks []mark, whole time.Duration) []Stage {
	var asked, stored, waited, inside []interval
	parts := map[string][]interval{}
	begun := map[string]time.Duration{}
	for _, m := range marks {
		is := interval{max(m.from, 0), min(m.to, whole)}
		switch m.kind {
		case trace.Call, trace.Program, trace.Start:
			asked = append(asked, is)
		case trace.State:
			stored = append(stored, is)
		case trace.Wait:
			waited = append(waited, is)
		case trace.Stage:
			inside = append(inside, is)
			if len(parts[m.name]) == 0 || is.from < begun[m.name] {
				begun[m.name] = is.from
			}
			parts[m.name] = append(parts[m.name], is)
		}
	}
	a := union(asked)
	as := union(append(stored, a...))
	asw := union(append(waited, as...))
	measure := func(name string, when []interval) Stage {
		s := Stage{Name: name, Took: length(when)}
		if outside := s.Took - covered(when, asw); outside > 0 {
			s.Engine = outside
		}
		s.Providers = covered(when, a)
		s.States = covered(when, as) - s.Providers
		s.Waits = covered(when, asw) - s.Providers - s.States
		return s
	}
	var list []Stage
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(begun[a], begun[b]), cmp.Compare(a, b)) })
	for _, name := range names {
		list = append(list, measure(name, union(parts[name])))
	}
	return append(list, measure("", without(whole, union(inside))))
}

// calls are the rows of what providers were queried, what took longest first.
func calls(marks []mark) []Calls {
	type key struct{ provider, about string }
	rows := map[key]*Calls{}
	row := func(m mark, about string) *Calls {
		k := key{m.provider, about}
		if rows[k] == nil {
			rows[k] = &Calls{Provider: m.provider, About: about, Typed: m.typ != ""}
		}
		return rows[k]
	}
	for _, m := range marks {
		switch {
		case m.kind == trace.Call || m.kind == trace.Program || m.kind == trace.Start:
			row(m, cmp.Or(m.typ, m.name)).add(m)
		case m.kind == trace.Wait && m.typ != "":
			row(m, m.typ).Waited += m.to - m.from
		}
	}
	list := make([]Calls, 0, len(rows))
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.About, b.About))
	})
	return list
}

func (c *Calls) add(m mark) {
	took := m.to - m.from
	c.Count++
	c.Total += took
	if m.failed {
		c.Failed++
	}
	if took > c.Slowest || c.Count == 1 {
		c.Slowest, c.At = took, m.at
	}
}

// path is the chain that decided when the run was over: from the end back to whatever ended
// last before, and so on. Anything that begins when something it needs has ended begins right
// after that, so that nothing need be known of who needs whom.
func path(marks []mark, whole time.Duration) []Piece {
	var stages, leaves []mark
	for _, m := range marks {
		if m.kind == trace.Stage {
			stages = append(stages, m)
		} else {
			leaves = append(leaves, m)
		}
	}
	var back []Piece
	t := whole
	for i := len(leaves) - 1; i >= 0 && t > 0; i-- {
		m := leaves[i]
		if m.to > t || m.from >= m.to {
			continue
		}
		back = append(back, alone(stages, m.to, t)...)
		t = max(m.from, 0)
		back = append(back, Piece{Kind: m.kind, Name: m.name, Provider: m.provider, Type: m.typ, At: m.at, From: t, Took: m.to - t})
	}
	back = append(back, alone(stages, 0, t)...)
	slices.Reverse(back)
	return back
}

// alone is a time in which nobody else was waited for, by the stages that it was in.
func alone(stages []mark, from, to time.Duration) []Piece {
	if from >= to {
		return nil
	}
	cuts := []time.Duration{from, to}
	for _, s := range stages {
		cuts = append(cuts, min(max(s.from, from), to), min(max(s.to, from), to))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var list []Piece
	for i := range cuts[1:] {
		name, begun := "", time.Duration(-1)
		for _, s := range stages {
			if s.from <= cuts[i] && cuts[i+1] <= s.to && s.from >= begun {
				name, begun = s.name, s.from
			}
		}
		if last := len(list) - 1; last >= 0 && list[last].Name == name {
			list[last].Took += cuts[i+1] - cuts[i]
			continue
		}
		list = append(list, Piece{Kind: trace.Stage, Name: name, From: cuts[i], Took: cuts[i+1] - cuts[i]})
	}
	slices.Reverse(list) // as all of the path is found from its end
	return list
}
