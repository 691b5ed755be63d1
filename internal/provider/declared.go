package provider

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
)

// Declared is a catalog of which only the schemas are used. Its providers accept every
// configuration, so checking one starts no process.
type Declared struct{ Catalog }

// Start implements Catalog.
func (c Declared) Start(context.Context, addr.Provider) (Provider, diag.List) {
	return accepting{}, nil
}

// accepting finds nothing wrong, and can do nothing.
type accepting struct{ Partial }

func unable() diag.List { return Lacking.List("Only the provider's schema is used here.") }

// UpgradeState implements Provider.
func (accepting) UpgradeState(context.Context, UpgradeRequest) (cty.Value, diag.List) {
	return cty.NilVal, unable()
}

// Read implements Provider.
func (accepting) Read(context.Context, ReadRequest) ReadResponse {
	return ReadResponse{Diags: unable()}
}

// Plan implements Provider.
func (accepting) Plan(context.Context, PlanRequest) PlanResponse {
	return PlanResponse{Diags: unable()}
}

// Apply implements Provider.
func (accepting) Apply(context.Context, ApplyRequest) ApplyResponse {
	return ApplyResponse{Unsent: true, Diags: unable()}
}

// Import implements Provider.
func (accepting) Import(context.Context, ImportRequest) ImportResponse {
	return ImportResponse{Diags: unable()}
}

// ReadData implements Provider.
func (accepting) ReadData(context.Context, ReadDataRequest) ReadDataResponse {
	return ReadDataResponse{Diags: unable()}
}

// CallFunction implements Provider. The result could be anything.
func (accepting) CallFunction(context.Context, string, []cty.Value) (cty.Value, int, error) {
	return cty.DynamicVal, -1, nil
}
