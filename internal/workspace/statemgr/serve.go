package statemgr

import (
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Stores opens the states of a backend by workspace, with the encryption of the directory. Journals
// and notes aren't part of them.
func (d *Keeper) Stores(b *statebackend.Backend) (func(workspace string) (storage.Store, error), diag.List) {
	seals, diags := d.seals()
	return func(workspace string) (storage.Store, error) {
		return storage.OpenSealed(b.Backend, workspace, seals)
	}, diags
}
