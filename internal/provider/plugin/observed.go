package plugin

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// observed is a connection whose calls are seen from outside, where anybody looks. Calls
// that are made again because a process ended are one. No call takes longer than the limit.
type observed struct {
	grpc.ClientConnInterface
	name  string        // of the plugin
	limit time.Duration // 0 for none
}

func (o observed) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.limit)
		defer cancel()
	}
	ctx, span := trace.Begin(ctx, trace.Call, method[strings.LastIndexByte(method, '/')+1:])
	err := o.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	if span == nil {
		return err
	}
	span.Set(trace.Method, method)
	span.Set(trace.Provider, o.name)
	if about, ok := args.(interface{ GetTypeName() string }); ok {
		span.Set(trace.Type, about.GetTypeName())
	}
	span.End(err != nil || refused(reply))
	return err
}

// refused reports whether an answer has errors.
func refused(reply any) bool {
	r, ok := reply.(interface {
		GetDiagnostics() []*tfplugin6.Diagnostic
	})
	return ok && slices.ContainsFunc(r.GetDiagnostics(), func(d *tfplugin6.Diagnostic) bool {
		return d.Severity == tfplugin6.Diagnostic_ERROR
	})
}
