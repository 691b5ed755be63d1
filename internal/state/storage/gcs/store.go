package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"weir.dev/weir/internal/state/storage"
)

// store is one object.
type store struct {
	b    *Backend
	name string

	mu   sync.Mutex
	seen *seen // what Write replaces, nil where that isn't known
}

// seen is an object that was read or written, "" where there was none.
type seen struct{ generation string }

func (s *store) object() string { return s.b.object(s.name, suffix) }

func (s *store) lockObject() string { return s.b.object(s.name, ".tflock") }

func (s *store) lockURL() string { return s.b.url(s.name, ".tflock") }

// Read returns the content of the object.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	service, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	content, generation, err := service.get(ctx, s.object(), s.b.sealing.headers())
	switch {
	case missing(err):
		s.seen = &seen{}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("failed to read state file from %s: %w", s.b.url(s.name, suffix), err)
	case len(content) == 0:
		return nil, storage.ErrEmptyState
	}
	s.seen = &seen{generation}
	if string(content) == storage.NoState {
		return nil, nil
	}
	return content, nil
}

// Write replaces the generation that was seen.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	service, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	replaces := ""
	if s.seen != nil {
		if replaces = s.seen.generation; replaces == "" {
			replaces = "0"
		}
	}
	generation, err := service.put(ctx, s.object(), state, replaces, s.b.sealing.kmsKey, s.b.sealing.headers())
	if s.seen != nil && (changed(err) || missing(err) && replaces != "0") {
		// It may have arrived before, and the answer was lost.
		now, at, problem := service.get(ctx, s.object(), s.b.sealing.headers())
		switch {
		case problem != nil && !missing(problem):
			return errors.Join(err, problem)
		case problem == nil && replaces == "0" && string(now) == storage.NoState && string(state) != storage.NoState:
			// The workspace was made meanwhile, and has no state yet.
			at, err = service.put(ctx, s.object(), state, at, s.b.sealing.kmsKey, s.b.sealing.headers())
			if changed(err) {
				return storage.ErrChanged
			}
			if err != nil {
				return fmt.Errorf("failed to upload state to %s: %w", s.b.url(s.name, suffix), err)
			}
		case problem != nil || !bytes.Equal(now, state) || at == s.seen.generation:
			return storage.ErrChanged
		}
		generation, err = at, nil
	}
	if err != nil {
		return fmt.Errorf("failed to upload state to %s: %w", s.b.url(s.name, suffix), err)
	}
	s.seen = &seen{generation}
	return nil
}

// Lock puts the object of the lock as long as none exists. Its generation is the id.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	service, err := s.b.open(ctx)
	if err != nil {
		return "", err
	}
	info.Path = s.lockURL()
	generation, err := service.put(ctx, s.lockObject(), info.JSON(), "0", "", nil)
	if err == nil {
		return generation, nil
	}
	err = fmt.Errorf("writing %q failed: %w", s.lockURL(), err)
	if !changed(err) {
		return "", err
	}
	holder, own, problem := s.holder(ctx, service)
	if problem == nil && own == info.ID {
		return holder.ID, nil // the answer to an earlier try was lost
	}
	return "", &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
}

// holder is who put the object of the lock, with the id that releases it, and
// the one that they gave it themselves.
func (s *store) holder(ctx context.Context, service *service) (holder *storage.LockInfo, own string, err error) {
	text, generation, err := service.get(ctx, s.lockObject(), nil)
	if missing(err) {
		return nil, "", nil // released a moment ago
	}
	if err != nil {
		return nil, "", err
	}
	if holder, err = storage.ParseLockInfo(text); err != nil {
		return nil, "", err
	}
	own, holder.ID = holder.ID, generation
	return holder, own, nil
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (*storage.LockInfo, error) {
	service, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	holder, _, err := s.holder(ctx, service)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.lockURL(), err)
	}
	return holder, nil
}

// Unlock removes the generation of the lock's object that is its id.
func (s *store) Unlock(ctx context.Context, id string) error {
	if _, err := strconv.ParseInt(id, 10, 64); err != nil {
		return fmt.Errorf("Lock ID should be numerical value, got '%s'", id)
	}
	service, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	err = service.remove(ctx, s.lockObject(), id)
	switch {
	case missing(err):
		return fmt.Errorf("there is no lock %s: %w", s.lockURL(), err)
	case changed(err):
		holder, _, problem := s.holder(ctx, service)
		return &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
	}
	return err
}
