package session

import (
	"bytes"
	"context"
	"encoding/json"
	"os"

	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
)

// sealed is a store whose states are encrypted where they are kept. Everything
// above it, digests among them, is about states in clear.
type sealed struct {
	storage.Store
	seals encryption.State
	// migrating: what was read last isn't encrypted as it should be.
	migrating bool
	// stored and clear are what was read last.
	stored, clear []byte
}

// Placeholder implements storage.Placeholder.
func (s *sealed) Placeholder(state []byte) error {
	store, ok := s.Store.(storage.Placeholder)
	if !ok {
		return nil
	}
	if s.clear != nil && bytes.Equal(state, s.clear) {
		return store.Placeholder(s.stored)
	}
	stored, err := s.seals.Seal(state)
	if err != nil {
		return err
	}
	return store.Placeholder(stored)
}

// Read opens the state.
func (s *sealed) Read(ctx context.Context) ([]byte, error) {
	stored, err := s.Store.Read(ctx)
	if err != nil {
		return nil, err
	}
	state, migrating, err := s.seals.Open(stored)
	s.migrating, s.stored, s.clear = migrating, stored, state
	return state, err
}

// Write seals the state.
func (s *sealed) Write(ctx context.Context, state []byte) error {
	stored, err := s.seals.Seal(state)
	if err != nil {
		return err
	}
	if err := s.Store.Write(ctx, stored); err != nil {
		return err
	}
	s.migrating = false
	return nil
}

// Prepare implements storage.Preparer.
func (s *sealed) Prepare(ctx context.Context, size int64) error {
	p, ok := s.Store.(storage.Preparer)
	if !ok {
		return nil
	}
	if s.seals.Encrypts() {
		size += size / 3 // what is encrypted is written as base64
	}
	return p.Prepare(ctx, size)
}

// reseal makes of a stored state one that is encrypted as it should be now. What
// can't be opened, or is torn, is left as it is.
func reseal(seals encryption.State, stored []byte) ([]byte, error) {
	state, _, err := seals.Open(stored)
	switch {
	case err != nil && encryption.Recognize(stored) != encryption.Other:
		return stored, nil
	case err != nil:
		state = stored
	}
	if !json.Valid(state) || bytes.TrimSpace(state)[0] != '{' {
		return stored, nil
	}
	return seals.Seal(state)
}

// resealFile does so with a file.
func (s *Session) resealFile(path string) error {
	stored, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	now, err := reseal(s.Seals, stored)
	if err != nil {
		return err
	}
	return s.Disk.Replace(path, now, 0o600)
}

// sealsKeys is how journals are sealed, nil where states are in clear.
func (s *Session) sealsKeys() journal.Crypt {
	if !s.Seals.Encrypts() {
		return nil
	}
	return s.Seals.SealKey
}
