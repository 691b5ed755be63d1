package provider

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
)

// Partial is what providers embed that have resources and data sources and little
// else: it has the calls that many don't need. Those that a schema has to declare
// first fail by saying that there is no such thing.
type Partial struct{}

func none(what, name string) diag.List {
	return Lacking.As("Unsupported "+what).List("The provider has no %s %q.", what, name)
}

// ValidateConfig implements Provider.
func (Partial) ValidateConfig(context.Context, cty.Value) diag.List { return nil }

// Configure implements Provider.
func (Partial) Configure(context.Context, cty.Value) diag.List { return nil }

// ValidateResource implements Provider.
func (Partial) ValidateResource(context.Context, addr.Mode, string, cty.Value) diag.List { return nil }

// UpgradeIdentity implements Provider.
func (Partial) UpgradeIdentity(_ context.Context, typ string, _ int64, _ []byte) (cty.Value, diag.List) {
	return cty.NilVal, none("identity of resource type", typ)
}

// Move implements Provider.
func (Partial) Move(_ context.Context, r MoveRequest) MoveResponse {
	return MoveResponse{Diags: none("move to resource type", r.TargetType)}
}

// GenerateConfig implements Provider.
func (Partial) GenerateConfig(_ context.Context, typ string, _ cty.Value) (cty.Value, diag.List) {
	return cty.NilVal, none("configuration of resource type", typ)
}

// OpenEphemeral implements Provider.
func (Partial) OpenEphemeral(_ context.Context, typ string, _ cty.Value) OpenResponse {
	return OpenResponse{Diags: none("ephemeral resource type", typ)}
}

// RenewEphemeral implements Provider.
func (Partial) RenewEphemeral(_ context.Context, typ string, _ []byte) OpenResponse {
	return OpenResponse{Diags: none("ephemeral resource type", typ)}
}

// CloseEphemeral implements Provider.
func (Partial) CloseEphemeral(_ context.Context, typ string, _ []byte) diag.List {
	return none("ephemeral resource type", typ)
}

// PlanAction implements Provider.
func (Partial) PlanAction(_ context.Context, typ string, _ cty.Value) PlanActionResponse {
	return PlanActionResponse{Diags: none("action type", typ)}
}

// InvokeAction implements Provider.
func (Partial) InvokeAction(_ context.Context, typ string, _ cty.Value, _ func(string)) diag.List {
	return none("action type", typ)
}

// List implements Provider.
func (Partial) List(_ context.Context, r ListRequest, _ func(ListResult) bool) diag.List {
	return none("list resource type", r.Type)
}

// CallFunction implements Provider.
func (Partial) CallFunction(_ context.Context, name string, _ []cty.Value) (cty.Value, int, error) {
	return cty.DynamicVal, -1, fmt.Errorf("the provider has no function %q", name)
}

// Stop implements Provider.
func (Partial) Stop(context.Context) error { return nil }

// Close implements Provider.
func (Partial) Close() error { return nil }
