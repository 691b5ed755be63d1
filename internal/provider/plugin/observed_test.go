package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// answers is a connection that answers reads with a problem where that is wanted.
type answers struct {
	grpc.ClientConnInterface
	problem tfplugin6.Diagnostic_Severity
	err     error
}

func (a answers) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	reply.(*tfplugin6.ReadResource_Response).Diagnostics = []*tfplugin6.Diagnostic{{Severity: a.problem}}
	return a.err
}

func TestObserved(t *testing.T) {
	for name, c := range map[string]struct {
		conn   answers
		failed bool
	}{
		"warned":  {answers{problem: tfplugin6.Diagnostic_WARNING}, false},
		"refused": {answers{problem: tfplugin6.Diagnostic_ERROR}, true},
		"lost":    {answers{err: errors.New("lost")}, true},
	} {
		var seen []string
		run := &trace.Run{Now: time.Now, NewID: func() trace.SpanID { return trace.SpanID{1} }, Ended: func(s *trace.Span) {
			seen = append(seen, fmt.Sprint(s.Kind, " ", s.Name, " ", s.Failed, " ", s.Facts))
		}}
		ctx, _ := run.Begin(context.Background(), trace.SpanID{}, "weir")
		rpc := tfplugin6.NewProviderClient(observed{c.conn, "net", 0})
		_, err := rpc.ReadResource(ctx, &tfplugin6.ReadResource_Request{TypeName: "net_port"})
		if !errors.Is(err, c.conn.err) {
			t.Error(err)
		}
		want := fmt.Sprintf("[call ReadResource %t [{rpc.method %s} {weir.provider net} {weir.type net_port}]]", c.failed, tfplugin6.Provider_ReadResource_FullMethodName)
		if got := fmt.Sprint(seen); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
}

// TestStartsAreSeen: a process that is started before anybody asks for it is a part of what
// the context belongs to, and what it is asked first is below its start.
func TestStartsAreSeen(t *testing.T) {
	var mu sync.Mutex
	var last byte
	ended := map[string]*trace.Span{}
	run := &trace.Run{Now: time.Now, NewID: func() trace.SpanID {
		mu.Lock()
		defer mu.Unlock()
		last++
		return trace.SpanID{last}
	}, Ended: func(s *trace.Span) {
		mu.Lock()
		defer mu.Unlock()
		ended[s.Name] = s
	}}
	a := testProvider("a")
	command := self(t, "6")
	c := NewCatalog(Sources{Installed: map[addr.Provider]string{a: command.Path}}, command)
	defer c.Close()
	c.Warm(run.Watch(t.Context()), []addr.Provider{a})
	if _, diags := c.Schemas(t.Context(), a); diags != nil {
		t.Fatal(diags)
	}
	mu.Lock()
	defer mu.Unlock()
	start, asked := ended["start provider"], ended["GetProviderSchema"]
	if start == nil || asked == nil || asked.Parent != start.ID || start.Failed || len(start.Facts) != 1 {
		t.Errorf("start: %+v, asked: %+v", start, asked)
	}
}
