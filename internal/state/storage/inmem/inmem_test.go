package inmem

import (
	"testing"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

func TestSuite(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storagetest.Subject {
		b := New()
		return storagetest.Subject{New: func(*testing.T) storage.Backend { return b }}
	})
}
