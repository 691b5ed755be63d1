package lockedstate

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/inmem"
	"weir.dev/weir/internal/workspace/statebackend"
)

// broken is a backend whose lock and state fail with an error.
type broken struct {
	storage.Backend
	err error
}

type brokenStore struct {
	storage.Store
	err error
}

func (b broken) State(name string) (storage.Store, error) {
	s, err := b.Backend.State(name)
	return brokenStore{s, b.err}, err
}

func (s brokenStore) Lock(context.Context, storage.LockInfo) (string, error) { return "", s.err }
func (s brokenStore) Read(context.Context) ([]byte, error)                   { return nil, s.err }

// TestNoLock advises to wait, or to remove a lock, only where another run may hold the lock.
func TestNoLock(t *testing.T) {
	for _, c := range []struct {
		err     error
		summary string
		waits   bool
	}{
		{&storage.LockError{Holder: &storage.LockInfo{ID: "1-2"}, Err: errors.New("held")}, Locked.Summary, true},
		{errors.New("connection refused"), Locked.Summary, false},
		{&storage.UnusableError{Text: "x isn't a database"}, Unusable.Summary, false},
	} {
		b := &statebackend.Backend{Backend: broken{inmem.New(), c.err}, Kind: "inmem"}
		s, diags := Open(b, "default", Options{Dir: t.TempDir(), DataDir: t.TempDir(), Notice: func(string) {}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, diags = s.Lock(t.Context(), "apply", Locking{})
		if len(diags) != 1 || diags[0].Summary != c.summary {
			t.Fatalf("%v: %v", c.err, diags)
		}
		text := diags[0].Detail
		if got := strings.Contains(text, "Wait") && strings.Contains(text, "left behind"); got != c.waits {
			t.Errorf("%v: %s", c.err, text)
		}
		for _, f := range s.Verify(t.Context()) {
			if c.summary == Unusable.Summary && (f.What != "state" || !Unusable.Is(f.Problems[0])) {
				t.Errorf("verify: %s %v", f.What, f.Problems)
			}
		}
	}
}
