// Package statestore stores states in a provider, for state_store blocks.
//
// It owns what the protocol of providers leaves open: the default workspace, workspaces without a
// state, and writes over what somebody else wrote. It doesn't start or configure the provider.
package statestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state/storage"
)

// A Backend is a state store of a provider.
type Backend struct {
	provider provider.StateStorer
	typ      string
	at       string
}

// New is the state store of a type of a provider, which is configured. At is the address of the
// store: where other stores of the type have other states, it differs.
func New(p provider.StateStorer, typ, at string) *Backend { return &Backend{p, typ, at} }

var errUnnamed = errors.New("a workspace needs a name")

// Workspaces implements storage.Backend.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	names, diags := b.provider.States(ctx, b.typ)
	if err := diags.Err(); err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == storage.DefaultWorkspace })
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, names...), nil
}

// CreateWorkspace writes a state without anything in it: a store lists states only.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	if name == "" {
		return errUnnamed
	}
	names, diags := b.provider.States(ctx, b.typ)
	if diags.HasErrors() || slices.Contains(names, name) {
		return diags.Err()
	}
	return b.provider.WriteState(ctx, b.typ, name, []byte(storage.NoState)).Err()
}

// DeleteWorkspace implements storage.Backend.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == "" || name == storage.DefaultWorkspace {
		return errors.New("cannot delete default state")
	}
	return b.provider.DeleteState(ctx, b.typ, name).Err()
}

// State implements storage.Backend.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errUnnamed
	}
	return &store{Backend: b, name: name}, nil
}

// Place implements storage.Backend.
func (b *Backend) Place(name string) string { return b.at + " " + name }

type store struct {
	*Backend
	name string

	mu   sync.Mutex
	seen *[sha256.Size]byte // of what Write replaces, nil where that isn't known
	// sent is of what a failed Write may have written all the same, nil for nothing.
	sent *[sha256.Size]byte
}

// get is the state that is there. One without anything in it counts as none.
func (s *store) get(ctx context.Context) ([]byte, error) {
	state, diags := s.provider.ReadState(ctx, s.typ, s.name)
	if err := diags.Err(); err != nil {
		return nil, err
	}
	if len(state) == 0 || bytes.Equal(state, []byte(storage.NoState)) {
		return nil, nil
	}
	return state, nil
}

func (s *store) saw(state []byte) {
	sum := sha256.Sum256(state)
	s.seen, s.sent = &sum, nil
}

func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := s.get(ctx)
	if err == nil {
		s.saw(state)
	}
	return state, err
}

// Write reads what it replaces first: the protocol has no condition for writes. Between the two
// somebody who doesn't care about the lock may still write.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != nil {
		now, err := s.get(ctx)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(now); sum != *s.seen && (s.sent == nil || sum != *s.sent) {
			return storage.ErrChanged
		}
	}
	if err := s.provider.WriteState(ctx, s.typ, s.name, state).Err(); err != nil {
		sum := sha256.Sum256(state)
		s.sent = &sum
		return err
	}
	s.saw(state)
	return nil
}

// Lock takes the lock. The protocol doesn't say who holds it: what the provider says is the error.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	id, diags := s.provider.LockState(ctx, s.typ, s.name, info.Operation)
	err := diags.Err()
	if err != nil && slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return provider.Reported.Is(d) }) {
		err = &storage.LockError{Err: err}
	}
	return id, err
}

func (s *store) Unlock(ctx context.Context, id string) error {
	if id == "" {
		return nil // the store has no locks
	}
	return s.provider.UnlockState(ctx, s.typ, s.name, id).Err()
}
