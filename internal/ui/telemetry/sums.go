package telemetry

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"weir.dev/weir/internal/core/trace"
)

// bounds of the histograms, in seconds.
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// told are the facts that metrics have: those with few values. Addresses have many.
var told = []string{trace.Provider, trace.Type, trace.ExitCode}

// sums are histograms of how long spans took: one for each kind, with points for each
// name and outcome.
type sums struct {
	since  time.Time
	points map[trace.Kind]map[string]*point
}

type point struct {
	labels        []trace.Fact
	counts        []uint64 // one more than bounds
	n             uint64
	sum, min, max float64
}

func newSums(now time.Time) sums { return sums{now, map[trace.Kind]map[string]*point{}} }

func (s sums) add(span *trace.Span) {
	labels := []trace.Fact{{Name: "name", Value: span.Name}, {Name: "failed", Value: span.Failed}}
	key := span.Name
	if span.Failed {
		key += "\x00failed"
	}
	for _, f := range span.Facts {
		if slices.Contains(told, f.Name) {
			labels = append(labels, f)
			if text, ok := f.Value.(string); ok {
				key += "\x00" + text
			}
		}
	}
	seconds := span.Stop.Sub(span.Start).Seconds()
	if s.points[span.Kind] == nil {
		s.points[span.Kind] = map[string]*point{}
	}
	p := s.points[span.Kind][key]
	if p == nil {
		p = &point{labels: labels, counts: make([]uint64, len(bounds)+1), min: seconds, max: seconds}
		s.points[span.Kind][key] = p
	}
	at, _ := slices.BinarySearch(bounds, seconds)
	p.counts[at]++
	p.n++
	p.sum += seconds
	p.min, p.max = min(p.min, seconds), max(p.max, seconds)
}

// encode is a request with all of them, as sums since the beginning of the run.
func (s sums) encode(about []trace.Fact, version string, now time.Time) []byte {
	const cumulative = 2
	return exported(about, version, func(scope *message) {
		for _, kind := range []trace.Kind{trace.Command, trace.Stage, trace.State, trace.Call, trace.Program, trace.Start, trace.Wait} {
			points := s.points[kind]
			if len(points) == 0 {
				continue
			}
			var metric, histogram message
			metric.text(1, "weir."+string(kind)+".duration")
			metric.text(3, "s")
			keys := make([]string, 0, len(points))
			for key := range points {
				keys = append(keys, key)
			}
			slices.SortFunc(keys, strings.Compare)
			for _, key := range keys {
				histogram.bytes(1, points[key].encode(s.since, now))
			}
			histogram.number(2, cumulative)
			metric.bytes(9, histogram)
			scope.bytes(2, metric)
		}
	})
}

func (p *point) encode(since, now time.Time) []byte {
	var m, counts, limits message
	m.time(2, since)
	m.time(3, now)
	m.fixed(4, p.n)
	m.float(5, p.sum)
	for _, n := range p.counts {
		counts = protowire.AppendFixed64(counts, n)
	}
	m.bytes(6, counts)
	for _, b := range bounds {
		var one message
		one.float(1, b)
		limits = append(limits, one[1:]...)
	}
	m.bytes(7, limits)
	m.facts(9, p.labels)
	m.float(11, p.min)
	m.float(12, p.max)
	return m
}
