package lockedstate

import (
	"context"

	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
)

// A Claimed is a session whose state may be changed: this run holds the lock, or was
// instructed to do without. Anything that changes the state, or ends what an earlier run has
// left, is here.
type Claimed struct{ *Session }

// Save writes a state whose content differs from what is stored. However often
// it is called, the serial grows by one.
func (l *Claimed) Save(ctx context.Context, next *state.Snapshot) error { return l.save(ctx, next) }

// Put writes a state as it is, unless those very bytes are stored.
func (l *Claimed) Put(ctx context.Context, next *state.Snapshot) error { return l.put(ctx, next) }

// Adopt saves a state that was found out beside what was read, as that from which
// everything else starts.
func (l *Claimed) Adopt(ctx context.Context, found *state.Snapshot) error {
	return l.keepFound(ctx, found)
}

// Settle leaves the given operations in doubt and no others.
func (l *Claimed) Settle(left []journal.Operation) error { return l.settle(left) }

// Unlock releases the lock, once; without one it does nothing.
func (l *Claimed) Unlock() { l.unlock() }
