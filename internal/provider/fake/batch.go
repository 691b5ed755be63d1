package fake

import (
	"context"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
)

var _ provider.Batching = (*instance)(nil)

// Batches implements provider.Batching.
func (i *instance) Batches(context.Context, string) provider.Batches { return i.Provider.Batches }

// ReadMany implements provider.Batching.
func (i *instance) ReadMany(ctx context.Context, rs []provider.ReadRequest) []provider.ReadResponse {
	return many(ctx, i, "ReadMany", rs[0].Type, rs, i.Read, func(ds diag.List) provider.ReadResponse { return provider.ReadResponse{Diags: ds} })
}

// PlanMany implements provider.Batching.
func (i *instance) PlanMany(ctx context.Context, rs []provider.PlanRequest) []provider.PlanResponse {
	return many(ctx, i, "PlanMany", rs[0].Type, rs, i.Plan, func(ds diag.List) provider.PlanResponse { return provider.PlanResponse{Diags: ds} })
}

// ApplyMany implements provider.Batching. A call that fails as a whole has no answers.
func (i *instance) ApplyMany(ctx context.Context, rs []provider.ApplyRequest) []provider.ApplyResponse {
	return many(ctx, i, "ApplyMany", rs[0].Type, rs, i.Apply, func(ds diag.List) provider.ApplyResponse { return provider.ApplyResponse{Diags: ds} })
}

func many[Q, R any](ctx context.Context, i *instance, call, typ string, rs []Q, each func(context.Context, Q) R, failed func(diag.List) R) []R {
	out := make([]R, len(rs))
	if diags := i.before(ctx, call, typ, cty.NilVal); diags.HasErrors() {
		for n := range out {
			out[n] = failed(diags)
		}
		return out
	}
	var all sync.WaitGroup
	for n, r := range rs {
		all.Go(func() { out[n] = each(ctx, r) })
	}
	all.Wait()
	return out
}
