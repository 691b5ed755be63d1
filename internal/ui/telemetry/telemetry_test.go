package telemetry

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"weir.dev/weir/internal/core/trace"
)

// A server keeps what it is sent.
type server struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	answers  []int // what the first requests get
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) > 0 {
		w.WriteHeader(s.answers[0])
		s.answers = s.answers[1:]
		return
	}
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
}

// world is one with a clock that continues by itself, and what is reported about it.
func world(environ ...string) (World, func() []string) {
	var mu sync.Mutex
	var told []string
	now := time.Unix(1e9, 0)
	return World{
			Environ: environ, Version: func() string { return "1.2.3" }, Random: bytes.NewReader(bytes.Repeat([]byte{7}, 1<<20)),
			Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(time.Second)
				return now
			},
			Tell: func(problem string) { told = append(told, problem) },
		}, func() []string {
			return told
		}
}

// names has the texts of a field that a path of fields leads to.
func names(t *testing.T, b []byte, path ...protowire.Number) (list []string) {
	t.Helper()
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("no message: %x", b)
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(field, typ, b)
		if n < 0 {
			t.Fatalf("no value: %x", b)
		}
		if field == path[0] && typ == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(b)
			if len(path) == 1 {
				list = append(list, string(inner))
			} else {
				list = append(list, names(t, inner, path[1:]...)...)
			}
		}
		b = b[n:]
	}
	return list
}

// run is one with spans.
func run(ctx context.Context) {
	trace.Name(ctx, "weir plan")
	stage, plan := trace.Begin(ctx, trace.Stage, "plan")
	_, call := trace.Begin(trace.About(stage, bytes.NewBufferString("a.b[0]")), trace.Call, "ReadResource")
	call.Set(trace.Provider, "p")
	call.End(true)
	plan.Set(trace.Objects, 3)
	plan.End(false)
}

func TestSends(t *testing.T) {
	s := &server{answers: []int{503}}
	h := httptest.NewServer(s)
	defer h.Close()
	w, told := world("OTEL_EXPORTER_OTLP_ENDPOINT="+h.URL+"/base", "OTEL_EXPORTER_OTLP_HEADERS=x-token=a%20b", "OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=team=net",
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx, end := Begin(w)
	run(ctx)
	end(0)
	if len(told()) > 0 {
		t.Error(told())
	}
	if len(s.requests) != 2 || s.requests[0].URL.Path != "/base/v1/traces" || s.requests[1].URL.Path != "/base/v1/metrics" {
		t.Fatalf("%v", s.requests)
	}
	if got := s.requests[0].Header.Get("x-token"); got != "a b" {
		t.Errorf("header %q", got)
	}
	if got := strings.Join(names(t, s.bodies[0], 1, 2, 2, 5), ", "); got != "ReadResource, plan, weir plan" {
		t.Errorf("spans: %s", got)
	}
	if got := names(t, s.bodies[0], 1, 2, 2, 1)[0]; got != "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c" {
		t.Errorf("trace: %x", got)
	}
	if got := strings.Join(names(t, s.bodies[0], 1, 2, 2, 9, 2, 1), ", "); got != "call, a.b[0], p, stage, command" {
		t.Errorf("facts: %s", got)
	}
	if got := strings.Join(names(t, s.bodies[0], 1, 1, 1, 2, 1), ", "); got != "mine, 1.2.3, net" {
		t.Errorf("process: %s", got)
	}
	if got := strings.Join(names(t, s.bodies[1], 1, 2, 2, 1), ", "); got != "weir.command.duration, weir.stage.duration, weir.call.duration" {
		t.Errorf("metrics: %s", got)
	}
}

func TestNobodyLooks(t *testing.T) {
	for _, environ := range [][]string{
		nil,
		{"HOME=/"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost", "OTEL_SDK_DISABLED=true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost", "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
		{"OTEL_TRACES_EXPORTER=otlp", "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
	} {
		w, told := world(environ...)
		ctx, end := Begin(w)
		if _, span := trace.Begin(ctx, trace.Stage, "plan"); span != nil {
			t.Errorf("%q: somebody looks", environ)
		}
		end(0)
		if len(told()) > 0 {
			t.Error(told())
		}
	}
}

// Anything that can't be sent is said once, and doesn't hold up the run for longer than it
// may.
func TestProblems(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"refused":  {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + refuses.URL}, "answers 404"},
		"silent":   {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String(), "OTEL_EXPORTER_OTLP_TIMEOUT=50"}, "deadline"},
		"grpc":     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TIMEOUT=50"}, silent.Addr().String()},
		"exporter": {[]string{"OTEL_TRACES_EXPORTER=zipkin"}, "zipkin"},
		"protocol": {[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, "http/json"},
		"address":  {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT has to be"},
		"header":   {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost", "OTEL_EXPORTER_OTLP_HEADERS=a=b,secret"}, "part number 2 isn't"},
		"file":     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost", "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere"}, "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			w, told := world(c.environ...)
			ctx, end := Begin(w)
			run(ctx)
			end(1)
			if got := told(); len(got) != 1 || !strings.Contains(got[0], c.want) || strings.Contains(got[0], "secret") {
				t.Errorf("told %q", got)
			}
		})
	}
}

// Spans that nobody takes don't fill the memory.
func TestLost(t *testing.T) {
	release := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer h.Close()
	w, told := world("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + h.URL)
	ctx, end := Begin(w)
	for range most + 2*batch {
		_, span := trace.Begin(ctx, trace.Stage, "plan")
		span.End(false)
	}
	close(release)
	end(0)
	if got := told(); len(got) != 1 || !strings.Contains(got[0], "were more than could wait") {
		t.Errorf("told %q", got)
	}
}

func FuzzParent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := parseParent(text)
		if (p.trace == traceID{}) != (p.span == trace.SpanID{}) {
			t.Errorf("half a parent: %+v", p)
		}
	})
}
