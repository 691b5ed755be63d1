package plugin

import (
	"context"
	"errors"
	"io"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

func (c *client) PlanAction(ctx context.Context, typ string, config cty.Value) provider.PlanActionResponse {
	x := c.begin("PlanAction", addr.Action, typ)
	req := &tfplugin6.PlanAction_Request{ActionType: typ, Config: x.encode(config), ClientCapabilities: c.capabilities}
	if x.failed() {
		return provider.PlanActionResponse{Diags: x.diags}
	}
	resp, err := c.rpc.PlanAction(ctx, req)
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.PlanActionResponse{Diags: x.diags}
	}
	return provider.PlanActionResponse{Deferred: deferred(resp.Deferred), Diags: x.diags}
}

func (c *client) InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(string)) diag.List {
	x := c.begin("InvokeAction", addr.Action, typ)
	req := &tfplugin6.InvokeAction_Request{ActionType: typ, Config: x.encode(config), ClientCapabilities: c.capabilities}
	if x.failed() {
		return x.diags
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	events, err := c.rpc.InvokeAction(ctx, req)
	if err != nil {
		return x.c.callFailed(x.call, err)
	}
	for {
		event, err := events.Recv()
		switch {
		case errors.Is(err, io.EOF):
			// Without its end nothing is known of what came of it.
			x.diags.Add(BadAnswer.New(diag.Error, "%s didn't say how the action %s has ended.", c.name, typ))
			return x.diags
		case err != nil:
			return append(x.diags, c.callFailed(x.call, err)...)
		}
		if p := event.GetProgress(); p != nil {
			progress(p.Message)
		}
		if done := event.GetCompleted(); done != nil {
			return append(x.diags, diagnostics(done.Diagnostics)...)
		}
	}
}

func (c *client) List(ctx context.Context, r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
	x := c.begin("ListResource", addr.List, r.Type)
	of := c.begin("ListResource", addr.Managed, r.Type)
	x.diags.Append(of.diags)
	req := &tfplugin6.ListResource_Request{TypeName: r.Type, Config: x.encode(r.Config), IncludeResourceObject: r.Objects, Limit: r.Limit}
	if x.failed() {
		return x.diags
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	events, err := c.rpc.ListResource(ctx, req)
	if err != nil {
		return x.c.callFailed(x.call, err)
	}
	for {
		event, err := events.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return x.diags
		case err != nil:
			return append(x.diags, c.callFailed(x.call, err)...)
		}
		one := c.begin(x.call, addr.Managed, r.Type)
		result := provider.ListResult{Name: event.DisplayName, Identity: one.decodeIdentity(event.Identity)}
		if event.ResourceObject != nil {
			result.Object = one.decode(event.ResourceObject)
		}
		result.Diags = append(diagnostics(event.Diagnostic), one.diags...)
		if !found(result) {
			return x.diags
		}
	}
}

// limited is the context of a stream, which takes no longer than one call may.
func (c *client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.limit > 0 {
		return context.WithTimeout(ctx, c.limit)
	}
	return context.WithCancel(ctx)
}
