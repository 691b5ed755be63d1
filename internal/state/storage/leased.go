package storage

import "context"

// A Leased is a Store whose lock ends by itself when the process that took it stops renewing it.
type Leased interface {
	// KeepLock has the lock with that ID, which this Store or an earlier process took, last until
	// it is released. This Store then writes under it. So a process can hold locks for
	// programs that outlive it.
	KeepLock(ctx context.Context, id string) error
}
