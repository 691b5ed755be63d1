package plugin

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"

	"weir.dev/weir/internal/provider/plugin/tfplugin6"
	"weir.dev/weir/internal/word/trace"
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
		rpc := tfplugin6.NewProviderClient(observed{c.conn, "net"})
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
