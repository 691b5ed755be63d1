package plugin

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/batching"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// Batches implements provider.Batching.
func (c *client) Batches(ctx context.Context, typ string) provider.Batches {
	bare := c.conn
	if seen, ok := bare.(observed); ok {
		bare = seen.ClientConnInterface // most plugins don't know the question, which is nothing to see
	}
	return c.batches.Of(ctx, bare, typ)
}

// ReadMany implements provider.Batching.
func (c *client) ReadMany(ctx context.Context, rs []provider.ReadRequest) []provider.ReadResponse {
	return batching.Calls[provider.ReadRequest, provider.ReadResponse]{
		Conn: c.conn, Method: batching.Read, Type: rs[0].Type, Alone: c.Read, Again: true,
		Write: func(r provider.ReadRequest) ([]byte, func([]byte, error) provider.ReadResponse) {
			x, m := c.readRequest(r)
			return written[tfplugin6.ReadResource_Response](x, m, x.read)
		},
	}.Do(ctx, rs)
}

// PlanMany implements provider.Batching.
func (c *client) PlanMany(ctx context.Context, rs []provider.PlanRequest) []provider.PlanResponse {
	return batching.Calls[provider.PlanRequest, provider.PlanResponse]{
		Conn: c.conn, Method: batching.Plan, Type: rs[0].Type, Alone: c.Plan, Again: true,
		Write: func(r provider.PlanRequest) ([]byte, func([]byte, error) provider.PlanResponse) {
			x, m := c.planRequest(r)
			return written[tfplugin6.PlanResourceChange_Response](x, m, x.planned)
		},
	}.Do(ctx, rs)
}

// ApplyMany implements provider.Batching. Where answers to creations are to be kept, all is
// done one by one, at the same time: what keeps them knows single answers.
func (c *client) ApplyMany(ctx context.Context, rs []provider.ApplyRequest) []provider.ApplyResponse {
	if _, kept := provider.AnswersIn(ctx); kept {
		out := make([]provider.ApplyResponse, len(rs))
		var all sync.WaitGroup
		for i, r := range rs {
			all.Go(func() { out[i] = c.Apply(ctx, r) })
		}
		all.Wait()
		return out
	}
	return batching.Calls[provider.ApplyRequest, provider.ApplyResponse]{
		Conn: c.conn, Method: batching.Apply, Type: rs[0].Type, Alone: c.Apply,
		Write: func(r provider.ApplyRequest) ([]byte, func([]byte, error) provider.ApplyResponse) {
			x, m := c.applyRequest(r)
			return written[tfplugin6.ApplyResourceChange_Response](x, m, x.appliedOr)
		},
	}.Do(ctx, rs)
}

// written gives the bytes of a request and what reads its answer; nothing for a request that
// there are no bytes for, which the ordinary call says.
func written[M, R any, P interface {
	*M
	proto.Message
}](x *exchange, request proto.Message, take func(P, error) R) ([]byte, func([]byte, error) R) {
	data, err := proto.Marshal(request)
	if x.failed() || err != nil {
		return nil, nil
	}
	return data, func(answer []byte, err error) R {
		var m P = new(M)
		if err == nil {
			err = proto.Unmarshal(answer, m)
		}
		return take(m, err)
	}
}
