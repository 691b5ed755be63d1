// Package trace marks spans of a run for tracing. They are part of a context; without a tracer
// that costs one lookup.
//
// It owns the names of kinds and facts. It doesn't know where spans go, and takes no values of
// configurations or states: traces are kept where many can read them.
package trace

import (
	"context"
	"fmt"
	"time"
)

// A Kind is what a span is about.
type Kind string

const (
	Command Kind = "command" // the whole of a run
	Stage   Kind = "stage"   // loading, validating, planning, applying
	State   Kind = "state"   // a store of states is asked
	Call    Kind = "call"    // a provider is asked
	Program Kind = "program" // a provisioner runs
	Start   Kind = "start"   // a process of a provider is started, and asked what it declares
	Wait    Kind = "wait"    // it isn't a call's turn, or an answer of a person is waited for
)

// The names of facts. That of calls is one of the conventions of OpenTelemetry.
const (
	KindOf   = "weir.kind"
	Address  = "weir.address"  // of an object
	Type     = "weir.type"     // of an object
	Provider = "weir.provider" // as its processes are called
	Objects  = "weir.objects"  // how many there are in a state or a plan
	ExitCode = "weir.exit_code"
	Method   = "rpc.method" // of a provider
)

// A Fact says more of a span: a string or an int.
type Fact struct {
	Name  string
	Value any
}

// A SpanID is one of eight bytes, not all of them zero.
type SpanID [8]byte

// A Span is something that takes time. The nil span is that of nobody who looks. Only the
// caller that began it changes it, and nobody after End.
type Span struct {
	ID, Parent  SpanID
	Name        string
	Kind        Kind
	Start, Stop time.Time
	Failed      bool
	Facts       []Fact

	run *Run
}

// A Run is what spans are parts of.
type Run struct {
	// ID names the run to other programs, zero for none.
	ID    [16]byte
	Now   func() time.Time
	NewID func() SpanID
	// Ended is notified of every span that has ended, from several goroutines at once.
	Ended func(*Span)
}

type (
	spanKey  struct{}
	aboutKey struct{}
)

// Begin begins the first span of a run, below one that somebody else has started or the zero
// one.
func (r *Run) Begin(ctx context.Context, parent SpanID, name string) (context.Context, *Span) {
	s := &Span{ID: r.NewID(), Parent: parent, Name: name, Kind: Command, Start: r.Now(), run: r}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Begin begins a span below that of ctx, until End. It is nil where nobody looks.
func Begin(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	above := of(ctx)
	if above == nil {
		return ctx, nil
	}
	r := above.run
	s := &Span{ID: r.NewID(), Parent: above.ID, Name: name, Kind: kind, Start: r.Now(), run: r}
	if object, ok := ctx.Value(aboutKey{}).(fmt.Stringer); ok {
		s.Facts = append(s.Facts, Fact{Address, object.String()})
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// TraceParent is what programs have in TRACEPARENT whose spans belong below that of ctx,
// empty where the run has no name.
func TraceParent(ctx context.Context) string {
	s := of(ctx)
	if s == nil || s.run.ID == [16]byte{} {
		return ""
	}
	return fmt.Sprintf("00-%x-%x-01", s.run.ID, s.ID)
}

func of(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// About says which object the calls are about that are made with a context.
func About[T fmt.Stringer](ctx context.Context, object T) context.Context {
	if of(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, aboutKey{}, fmt.Stringer(object))
}

// Name calls the span of ctx otherwise.
func Name(ctx context.Context, name string) {
	if s := of(ctx); s != nil {
		s.Name = name
	}
}

// Set says more of a span.
func (s *Span) Set(name string, value any) {
	if s != nil {
		s.Facts = append(s.Facts, Fact{name, value})
	}
}

// End ends a span, as failed or not.
func (s *Span) End(failed bool) {
	if s == nil {
		return
	}
	s.Failed, s.Stop = failed, s.run.Now()
	s.run.Ended(s)
}
