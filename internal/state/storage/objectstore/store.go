package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"weir.dev/weir/internal/state/storage"
)

// A State is the object of a state. The type that embeds it locks.
type State struct {
	// Open finds the bucket.
	Open   func(ctx context.Context) (*Service, error)
	Key    string // of the object
	Beside string // the key of the object for notes
	// Header is that of an upload. Unless is the one that it has where there must be no
	// object yet, which a service may overlook.
	Header func(content []byte) http.Header
	Unless string
	// Check looks whether an object is whole; nil for no look.
	Check func(Object) error

	mu   sync.Mutex
	seen *seen // what Write replaces, nil where that isn't known
}

// seen is an object that was read or written, with its tag; without a tag there was none.
type seen struct{ tag string }

// Get reads an object; without one its content is nil.
func (s *State) Get(ctx context.Context, key string) (Object, error) {
	service, err := s.Open(ctx)
	if err != nil {
		return Object{}, err
	}
	o, err := service.Get(ctx, key)
	switch {
	case Missing(err):
		return Object{}, nil
	case err == nil && s.Check != nil:
		err = s.Check(o)
	}
	if err != nil {
		return Object{}, fmt.Errorf("failed to read the object %q: %w", key, err)
	}
	return o, nil
}

// Read implements storage.Store.
func (s *State) Read(ctx context.Context) ([]byte, error) {
	content, err := s.Stored(ctx)
	switch {
	case err != nil:
		return nil, err
	case string(content) == storage.NoState:
		return nil, nil
	}
	return content, nil
}

// Stored reads what is there for the state, which may be a workspace without one.
func (s *State) Stored(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	o, err := s.Get(ctx, s.Key)
	switch {
	case err != nil:
		return nil, err
	case o.Content != nil && len(o.Content) == 0:
		return nil, storage.ErrEmptyState
	}
	s.seen = &seen{o.Tag}
	return o.Content, nil
}

// Fresh has the next Write want that there is no state.
func (s *State) Fresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = &seen{}
}

// Write implements storage.Store. The state is inspected right before the upload, which knows
// no condition but that none exists yet: that nobody comes in between is what the lock is for.
func (s *State) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	service, err := s.Open(ctx)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		header := s.Header(state)
		if s.seen != nil {
			there, done, err := s.look(ctx, service, state)
			if err != nil {
				return err
			}
			if done {
				s.seen = &seen{there}
				return nil
			}
			if there == "" {
				header.Set(s.Unless, "true")
			}
		}
		tag, err := service.Put(ctx, s.Key, state, header)
		switch {
		case err == nil:
			s.seen = &seen{tag}
			return nil
		case Status(err) == http.StatusConflict && header.Get(s.Unless) != "" && try < uploads:
			// Somebody was faster, or the answer to an earlier try was lost: look again.
		default:
			return fmt.Errorf("failed to upload state to the object %q: %w", s.Key, err)
		}
	}
}

// uploads is how often a state is uploaded when somebody was faster.
const uploads = 5

// look compares what is there with what was seen. It returns the tag of it, "" for nothing,
// and whether it is the state that was to be written.
func (s *State) look(ctx context.Context, service *Service, state []byte) (tag string, done bool, err error) {
	o, err := service.Head(ctx, s.Key)
	switch {
	case err != nil && !Missing(err):
		return "", false, fmt.Errorf("failed to look at the object %q: %w", s.Key, err)
	case o.Tag == s.seen.tag:
		return o.Tag, false, nil
	}
	if o, err = s.Get(ctx, s.Key); err != nil {
		return "", false, err
	}
	switch {
	case o.Content != nil && bytes.Equal(o.Content, state):
		return o.Tag, true, nil
	case s.seen.tag == "" && string(o.Content) == storage.NoState:
		return o.Tag, false, nil // the workspace was made meanwhile, and has no state yet
	}
	return "", false, storage.ErrChanged
}

// Note implements storage.Noted.
func (s *State) Note(ctx context.Context) ([]byte, error) {
	o, err := s.Get(ctx, s.Beside)
	return o.Content, s.noting(err)
}

// SetNote implements storage.Noted.
func (s *State) SetNote(ctx context.Context, note []byte) error {
	service, err := s.Open(ctx)
	if err != nil {
		return err
	}
	if note == nil {
		return s.noting(service.Remove(ctx, s.Beside))
	}
	_, err = service.Put(ctx, s.Beside, note, s.Header(note))
	return s.noting(err)
}

// noting reports where a policy is for the state and its lock alone.
func (s *State) noting(err error) error {
	if status := Status(err); status != http.StatusForbidden && status != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: the object %q: %w", storage.ErrNoNotes, s.Beside, err)
}

// Create has a workspace be there, with an empty state where it has none.
func Create(ctx context.Context, s interface {
	Fresh()
	Write(ctx context.Context, state []byte) error
}) error {
	s.Fresh()
	if err := s.Write(ctx, []byte(storage.NoState)); err != nil && !errors.Is(err, storage.ErrChanged) {
		return err
	}
	return nil
}
