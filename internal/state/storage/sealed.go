package storage

import (
	"bytes"
	"context"
)

// A Crypt encrypts states and opens them.
type Crypt interface {
	// Encrypts reports whether Seal makes states unreadable.
	Encrypts() bool
	Seal(state []byte) ([]byte, error)
	// Open is the state that was sealed. migrating: it should be sealed again.
	Open(stored []byte) (state []byte, migrating bool, err error)
}

// A Sealed is a store whose states are encrypted where they are kept. Everything
// above it, digests among them, is about states in clear.
type Sealed struct {
	Store
	crypt Crypt // nil where the store encrypts by itself
	// migrating: what was read last isn't encrypted as it should be.
	migrating bool
	// stored and clear are what was read last.
	stored, clear []byte
}

// Seal encrypts what is in a store.
func Seal(s Store, c Crypt) *Sealed { return &Sealed{Store: s, crypt: c} }

// OpenSealed is the state of a workspace, encrypted.
func OpenSealed(b Backend, workspace string, c Crypt) (*Sealed, error) {
	if p, ok := b.(Parted); ok {
		s, err := p.Sealed(c).State(workspace)
		return &Sealed{Store: s}, err
	}
	s, err := b.State(workspace)
	return Seal(s, c), err
}

// Migrating reports whether what was read last isn't encrypted as it should be.
func (s *Sealed) Migrating() bool {
	if inner, ok := s.Store.(interface{ Migrating() bool }); ok && s.crypt == nil {
		return inner.Migrating()
	}
	return s.migrating
}

// Placeholder implements Placeholder.
func (s *Sealed) Placeholder(state []byte) error {
	store, ok := s.Store.(Placeholder)
	switch {
	case !ok:
		return nil
	case s.crypt == nil:
		return store.Placeholder(state)
	case s.clear != nil && bytes.Equal(state, s.clear):
		return store.Placeholder(s.stored)
	}
	stored, err := s.crypt.Seal(state)
	if err != nil {
		return err
	}
	return store.Placeholder(stored)
}

// Read opens the state.
func (s *Sealed) Read(ctx context.Context) ([]byte, error) {
	stored, err := s.Store.Read(ctx)
	if err != nil || s.crypt == nil {
		return stored, err
	}
	state, migrating, err := s.crypt.Open(stored)
	s.migrating, s.stored, s.clear = migrating, stored, state
	return state, err
}

// Write seals the state.
func (s *Sealed) Write(ctx context.Context, state []byte) error {
	if s.crypt == nil {
		return s.Store.Write(ctx, state)
	}
	stored, err := s.crypt.Seal(state)
	if err != nil {
		return err
	}
	if err := s.Store.Write(ctx, stored); err != nil {
		return err
	}
	s.migrating = false
	return nil
}

// Prepare implements Preparer.
func (s *Sealed) Prepare(ctx context.Context, size int64) error {
	p, ok := s.Store.(Preparer)
	if !ok {
		return nil
	}
	if s.crypt != nil && s.crypt.Encrypts() {
		size += size / 3 // what is encrypted is written as base64
	}
	return p.Prepare(ctx, size)
}
