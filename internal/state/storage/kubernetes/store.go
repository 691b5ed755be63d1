package kubernetes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

// store is one secret and its lease.
type store struct {
	b    *Backend
	name string // of the workspace

	mu   sync.Mutex
	seen *seen // what Write replaces, nil where that isn't known
}

// seen is a secret that was read or written. Others may change its labels, so that what
// counts is the state in it.
type seen struct {
	version string // "" where there was none
	sum     [sha256.Size]byte
}

// noState reports whether a secret is there for a workspace only.
func noState(state []byte) bool { return state == nil || string(state) == storage.NoState }

// Read returns the state in the secret.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	client, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	o, err := get(ctx, client, s.b.secrets(), s.b.secretName(s.name))
	if err != nil {
		return nil, err
	}
	if o == nil {
		s.seen = &seen{}
		return nil, nil
	}
	state, err := o.state()
	if err != nil {
		return nil, err
	}
	if state != nil && len(state) == 0 {
		return nil, storage.ErrEmptyState
	}
	s.seen = &seen{o.version(), sha256.Sum256(state)}
	if noState(state) {
		return nil, nil
	}
	return state, nil
}

// tries is how often an object is inspected again that is changed meanwhile.
const tries = 20

var errAgain = errors.New("somebody else changes it all the time")

// Write replaces the state that was seen.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	client, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	for range tries {
		if err = s.replace(ctx, client, state); !errors.Is(err, errAgain) {
			break
		}
	}
	switch {
	case errors.Is(err, storage.ErrChanged):
		return err
	case rest.Status(err) == http.StatusUnprocessableEntity || rest.Status(err) == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("the secret %s can't be written. Kubernetes takes no more than 1 MiB, compressed: %w", s.b.secretName(s.name), err)
	case err != nil:
		return fmt.Errorf("the secret %s can't be written: %w", s.b.secretName(s.name), err)
	}
	return nil
}

// replace is one try.
func (s *store) replace(ctx context.Context, client *rest.Client, state []byte) error {
	o, err := get(ctx, client, s.b.secrets(), s.b.secretName(s.name))
	if err != nil {
		return err
	}
	if o == nil {
		if s.seen != nil && s.seen.version != "" {
			return storage.ErrChanged
		}
		o = s.b.object(s.name, "")
	} else if s.seen != nil && s.seen.version != o.version() {
		now, err := o.state()
		switch {
		case err != nil:
			return err
		case bytes.Equal(now, state) && !noState(now):
			s.seen = &seen{o.version(), sha256.Sum256(now)} // the answer to an earlier try was lost
			return nil
		case s.seen.version == "" && noState(now), s.seen.version != "" && sha256.Sum256(now) == s.seen.sum:
		default:
			return storage.ErrChanged
		}
	}
	if err := o.setState(state); err != nil {
		return err
	}
	made, err := put(ctx, client, s.b.secrets(), o)
	switch {
	case conflict(err), rest.Status(err) == http.StatusNotFound && o.version() != "":
		return errAgain
	case err != nil:
		return err
	}
	s.seen = &seen{made.version(), sha256.Sum256(state)}
	return nil
}

func (s *store) lease() string { return "lock-" + s.b.secretName(s.name) }

// Lock has the lease name the id as its holder.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	client, err := s.b.open(ctx)
	if err != nil {
		return "", err
	}
	for range tries {
		o, err := get(ctx, client, s.b.leases(), s.lease())
		if err != nil {
			return "", err
		}
		switch {
		case o == nil:
			o = s.b.object(s.name, "lock-")
		case o.holder() == info.ID:
			return info.ID, nil // the answer to an earlier try was lost
		case o.holder() != "":
			return "", held(o, errors.New("the state is already locked by another client"))
		}
		o.hold(info.ID, info.JSON())
		_, err = put(ctx, client, s.b.leases(), o)
		if err == nil {
			return info.ID, nil
		}
		if !conflict(err) && (rest.Status(err) != http.StatusNotFound || o.version() == "") {
			return "", fmt.Errorf("the lease %s can't be had: %w", s.lease(), err)
		}
	}
	return "", fmt.Errorf("the lease %s can't be had: %w", s.lease(), errAgain)
}

// held reports who holds a lease.
func held(o object, err error) *storage.LockError {
	holder, problem := storage.ParseLockInfo([]byte(o.info()))
	if problem != nil { // whatever the holder, it can be asked to release
		holder = &storage.LockInfo{ID: o.holder()}
	}
	return &storage.LockError{Holder: holder, Err: err}
}

// Unlock takes the holder out of the lease.
func (s *store) Unlock(ctx context.Context, id string) error {
	client, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	for try := range tries {
		o, err := get(ctx, client, s.b.leases(), s.lease())
		switch {
		case err != nil:
			return err
		case o == nil || o.holder() == "":
			if try > 0 {
				return nil // the answer to an earlier try was lost
			}
			return errors.New("state is already unlocked")
		case o.holder() != id:
			return held(o, fmt.Errorf("lock id %q does not match existing lock", id))
		}
		before := o.info()
		o.hold("", nil)
		_, err = put(ctx, client, s.b.leases(), o)
		if err == nil {
			return nil
		}
		if !conflict(err) {
			o.hold(id, []byte(before))
			return held(o, err)
		}
	}
	return fmt.Errorf("the lease %s can't be released: %w", s.lease(), errAgain)
}
