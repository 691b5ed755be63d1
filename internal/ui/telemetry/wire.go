package telemetry

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"weir.dev/weir/internal/core/trace"
)

// These are messages of OTLP 1, by the numbers that opentelemetry-proto gives their
// fields.

// A message is a message while it is written.
type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) number(field protowire.Number, n uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), n)
}

func (m *message) fixed(field protowire.Number, n uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), n)
}

func (m *message) float(field protowire.Number, f float64) { m.fixed(field, math.Float64bits(f)) }

func (m *message) time(field protowire.Number, t time.Time) { m.fixed(field, uint64(t.UnixNano())) }

// facts writes each fact as a KeyValue.
func (m *message) facts(field protowire.Number, facts []trace.Fact) {
	for _, f := range facts {
		var value, pair message
		switch v := f.Value.(type) {
		case string:
			value.text(1, v)
		case bool:
			value.number(2, protowire.EncodeBool(v))
		case int:
			value.number(3, uint64(max(v, 0))) // counts and exit codes
		}
		pair.text(1, f.Name)
		pair.bytes(2, value)
		m.bytes(field, pair)
	}
}

// exported is a request to take what was measured: content are the fields of a
// ScopeSpans or ScopeMetrics beside the scope, which have the same numbers.
func exported(about []trace.Fact, version string, content func(scope *message)) []byte {
	var scope, named, process, resource, request message
	named.text(1, "weir.dev/weir")
	named.text(2, version)
	scope.bytes(1, named)
	content(&scope)
	process.facts(1, about)
	resource.bytes(1, process)
	resource.bytes(2, scope)
	request.bytes(1, resource)
	return request
}

// spans is a request with spans.
func spans(about []trace.Fact, version string, id traceID, list []*trace.Span) []byte {
	const internal, client = 1, 3
	const failed = 2
	return exported(about, version, func(scope *message) {
		for _, s := range list {
			var m message
			m.bytes(1, id[:])
			m.bytes(2, s.ID[:])
			if s.Parent != (trace.SpanID{}) {
				m.bytes(4, s.Parent[:])
			}
			m.text(5, s.Name)
			kind := uint64(internal)
			if s.Kind == trace.Call {
				kind = client
			}
			m.number(6, kind)
			m.time(7, s.Start)
			m.time(8, s.Stop)
			m.facts(9, append([]trace.Fact{{Name: trace.KindOf, Value: string(s.Kind)}}, s.Facts...))
			if s.Failed {
				var status message
				status.number(3, failed)
				m.bytes(15, status)
			}
			scope.bytes(2, m)
		}
	})
}
