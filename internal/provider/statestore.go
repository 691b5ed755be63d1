package provider

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
)

// A StateStorer is a provider that stores states, in state stores of the types of
// Schemas.StateStores. It has to be configured first, and so has the store. States have the names
// of workspaces.
type StateStorer interface {
	ValidateStateStore(ctx context.Context, typ string, config cty.Value) diag.List
	ConfigureStateStore(ctx context.Context, typ string, config cty.Value) diag.List

	// ReadState returns nothing for a state that doesn't exist.
	ReadState(ctx context.Context, typ, name string) ([]byte, diag.List)
	WriteState(ctx context.Context, typ, name string, state []byte) diag.List
	// LockState returns the ID that UnlockState wants. The operation is for people.
	LockState(ctx context.Context, typ, name, operation string) (id string, diags diag.List)
	UnlockState(ctx context.Context, typ, name, id string) diag.List
	// States lists the states that exist.
	States(ctx context.Context, typ string) ([]string, diag.List)
	DeleteState(ctx context.Context, typ, name string) diag.List
}
