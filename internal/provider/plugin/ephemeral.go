package plugin

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/types/known/timestamppb"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

func (c *client) OpenEphemeral(ctx context.Context, typ string, config cty.Value) provider.OpenResponse {
	x := c.begin("OpenEphemeralResource", addr.Ephemeral, typ)
	req := &tfplugin6.OpenEphemeralResource_Request{
		TypeName:           typ,
		Config:             x.encode(config),
		ClientCapabilities: c.capabilities,
	}
	if x.failed() {
		return provider.OpenResponse{Diags: x.diags}
	}
	resp, err := c.rpc.OpenEphemeralResource(ctx, req)
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.OpenResponse{Diags: x.diags}
	}
	out := provider.OpenResponse{
		Result:   x.decode(resp.Result),
		Private:  resp.Private,
		RenewAt:  when(resp.RenewAt),
		Deferred: deferred(resp.Deferred),
	}
	out.Diags = x.diags
	return out
}

// RenewEphemeral's response has no result: the one of opening stays valid.
func (c *client) RenewEphemeral(ctx context.Context, typ string, private []byte) provider.OpenResponse {
	x := c.begin("RenewEphemeralResource", addr.Ephemeral, typ)
	if x.failed() {
		return provider.OpenResponse{Diags: x.diags}
	}
	resp, err := c.rpc.RenewEphemeralResource(ctx, &tfplugin6.RenewEphemeralResource_Request{TypeName: typ, Private: private})
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.OpenResponse{Diags: x.diags}
	}
	return provider.OpenResponse{Private: resp.Private, RenewAt: when(resp.RenewAt), Diags: x.diags}
}

func (c *client) CloseEphemeral(ctx context.Context, typ string, private []byte) diag.List {
	x := c.begin("CloseEphemeralResource", addr.Ephemeral, typ)
	if !x.failed() {
		resp, err := c.rpc.CloseEphemeralResource(ctx, &tfplugin6.CloseEphemeralResource_Request{TypeName: typ, Private: private})
		x.answered(err, resp.GetDiagnostics())
	}
	return x.diags
}

// when is the zero time without a timestamp.
func when(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
