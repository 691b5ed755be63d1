package statemgr

import (
	"context"
	"errors"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Usable reports why a backend can't have states, where it can tell.
func (d *Keeper) Usable(ctx context.Context, b *statebackend.Backend) diag.List {
	checked, ok := b.Backend.(storage.Checked)
	if !ok {
		return nil
	}
	if err := checked.Check(ctx); errors.As(err, new(*storage.UnusableError)) {
		return lockedstate.Unusable.List("%s.", err)
	}
	return nil // commands that use it report other problems
}
