// Package inmem stores states in memory, for tests and experiments. They end with the process.
package inmem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/storage"
)

// A Backend is a set of states in memory. Copies of the pointer are the same
// place.
type Backend struct {
	mu     sync.Mutex
	states map[string]*cell
}

type cell struct {
	content []byte
	writes  int
	lock    *storage.LockInfo
}

// New makes an empty place.
func New() *Backend { return &Backend{states: map[string]*cell{storage.DefaultWorkspace: {}}} }

// Workspaces lists what was created or written.
func (b *Backend) Workspaces(context.Context) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := slices.Sorted(maps.Keys(b.states))
	i := slices.Index(names, storage.DefaultWorkspace)
	return append([]string{storage.DefaultWorkspace}, slices.Delete(names, i, i+1)...), nil
}

// Place is the workspace's name.
func (b *Backend) Place(name string) string { return name }

// CreateWorkspace adds a workspace.
func (b *Backend) CreateWorkspace(_ context.Context, name string) error {
	if name == "" {
		return errors.New("a workspace needs a name")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cell(name)
	return nil
}

func (b *Backend) cell(name string) *cell {
	c := b.states[name]
	if c == nil {
		c = &cell{}
		b.states[name] = c
	}
	return c
}

// DeleteWorkspace forgets a workspace.
func (b *Backend) DeleteWorkspace(_ context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("cannot delete default state")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.states, name)
	return nil
}

// State opens a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b, name, -1}, nil
}

type store struct {
	*Backend
	name string
	seen int // writes of what Write replaces, -1 where that isn't known
}

func (s *store) Read(context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.states[s.name]
	if c == nil {
		c = &cell{}
	}
	s.seen = c.writes
	return bytes.Clone(c.content), nil
}

func (s *store) Write(_ context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cell(s.name)
	if s.seen >= 0 && s.seen != c.writes {
		return storage.ErrChanged
	}
	c.content = bytes.Clone(state)
	c.writes++
	s.seen = c.writes
	return nil
}

func (s *store) Lock(_ context.Context, info storage.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cell(s.name)
	if c.lock != nil {
		return "", &storage.LockError{Holder: c.lock, Err: errors.New("state is locked")}
	}
	c.lock = &info
	return info.ID, nil
}

func (s *store) Unlock(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cell(s.name)
	switch {
	case c.lock == nil:
		return errors.New("state isn't locked")
	case c.lock.ID != id:
		return &storage.LockError{Holder: c.lock, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
	}
	c.lock = nil
	return nil
}

// Type is the backend for configurations that try out locks: nothing in it outlives
// the command.
var Type = storage.Type{Schema: Schema, New: configured}

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"lock_id": {Type: cty.String, Optional: true, Description: "The id of a lock that is held from the beginning"},
	}}
}

func configured(config cty.Value, _ storage.Env) (storage.Backend, diag.List) {
	b := New()
	if id := config.GetAttr("lock_id"); !id.IsNull() && id.AsString() != "" {
		b.cell(storage.DefaultWorkspace).lock = &storage.LockInfo{ID: id.AsString(), Operation: "test", Info: "test config"}
	}
	return b, nil
}
