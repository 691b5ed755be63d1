package azurerm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"weir.dev/weir/internal/state/storage"
)

// store is one blob.
type store struct {
	b    *Backend
	blob string

	mu    sync.Mutex
	lease string
	seen  *seen // what Write replaces, nil where that isn't known
}

// seen is a blob that was read or written. A lock changes its tag and nothing else, so
// that what counts is what is in it.
type seen struct {
	tag string // "" where there was none
	sum [sha256.Size]byte
}

// noState reports whether a blob is there for a lock or a workspace only. Incumbents put
// one without content there before they lock it.
func noState(content []byte) bool { return len(content) == 0 || string(content) == storage.NoState }

// Read returns the content of the blob.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	service, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	content, at, err := service.get(ctx, s.blob)
	switch {
	case missing(err):
		s.seen = &seen{}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("error downloading azure blob: %w", err)
	}
	s.seen = &seen{at.tag, sha256.Sum256(content)}
	if noState(content) {
		return nil, nil
	}
	return content, nil
}

// errAgain says that the blob was touched meanwhile.
var errAgain = errors.New("the blob is changed all the time by somebody else")

// tries is how often a blob is inspected again that is touched meanwhile.
const tries = 20

// Write replaces the content that was seen.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	service, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	for range tries {
		if err = s.replace(ctx, service, state); !errors.Is(err, errAgain) {
			break
		}
	}
	if err != nil && !errors.Is(err, storage.ErrChanged) {
		return fmt.Errorf("error uploading blob: %w", err)
	}
	return err
}

// replace is one try.
func (s *store) replace(ctx context.Context, service *service, state []byte) error {
	at, err := service.properties(ctx, s.blob)
	if err != nil && !missing(err) {
		return err
	}
	if s.seen != nil && at.tag != s.seen.tag {
		now, there, err := service.get(ctx, s.blob)
		switch {
		case missing(err):
			return storage.ErrChanged // it was there
		case err != nil:
			return err
		case bytes.Equal(now, state) && !noState(now):
			s.seen = &seen{there.tag, sha256.Sum256(now)} // the answer to an earlier try was lost
			return nil
		case sha256.Sum256(now) == s.seen.sum && s.seen.tag != "", s.seen.tag == "" && noState(now):
			s.seen = &seen{there.tag, sha256.Sum256(now)}
		default:
			return storage.ErrChanged
		}
		at = there
	}
	if s.b.snapshots && at.tag != "" {
		if err := service.snapshot(ctx, s.blob, s.lease); err != nil {
			return fmt.Errorf("error snapshotting blob %s: %w", s.blob, err)
		}
	}
	tag, err := service.put(ctx, s.blob, state, at, s.lease)
	switch {
	case code(err) == leaseMissing:
		return fmt.Errorf("somebody has locked the state: %w", err)
	case changed(err):
		return errAgain
	case err != nil:
		return err
	}
	s.seen = &seen{tag, sha256.Sum256(state)}
	return nil
}

// Lock takes the lease of the blob, which is made without one.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	service, err := s.b.open(ctx)
	if err != nil {
		return "", err
	}
	info.Path = service.address(s.blob, nil)
	err = service.lease(ctx, s.blob, info.ID)
	if missing(err) {
		if err := service.make(ctx, s.blob); err != nil {
			return "", fmt.Errorf("the blob to lock can't be made: %w", err)
		}
		err = service.lease(ctx, s.blob, info.ID)
	}
	if code(err) == leaseHeld {
		at, problem := service.properties(ctx, s.blob)
		holder, why := at.holder()
		return "", &storage.LockError{Holder: holder, Err: errors.Join(fmt.Errorf("state blob is already locked: %w", err), problem, why)}
	}
	if err != nil {
		return "", fmt.Errorf("the lease of the blob can't be had: %w", err)
	}
	if err := s.tell(ctx, service, info.JSON(), info.ID); err != nil {
		return "", errors.Join(fmt.Errorf("the lock's holder can't be written: %w", err), service.release(ctx, s.blob, info.ID))
	}
	s.lease = info.ID
	return info.ID, nil
}

// tell writes who holds the lock to the metadata, nil for nobody.
func (s *store) tell(ctx context.Context, service *service, info []byte, lease string) error {
	for range tries {
		at, err := service.properties(ctx, s.blob)
		if err != nil {
			return err
		}
		same := s.seen != nil && s.seen.tag == at.tag
		delete(at.metadata, holderKey)
		if info != nil {
			at.metadata[holderKey] = base64.StdEncoding.EncodeToString(info)
		}
		tag, err := service.describe(ctx, s.blob, at, lease)
		if err == nil && same {
			s.seen.tag = tag
		}
		if !changed(err) {
			return err
		}
	}
	return errAgain
}

// Unlock ends the lease that is the lock's id.
func (s *store) Unlock(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	service, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	at, err := service.properties(ctx, s.blob)
	if err != nil {
		return fmt.Errorf("failed to retrieve lock info: %w", err)
	}
	holder, err := at.holder()
	if err != nil && !at.leased {
		return fmt.Errorf("failed to retrieve lock info: %w", err)
	}
	// A lock whose run ended between its two steps says nothing about the holder. The
	// service still holds the id to the lease.
	if holder != nil && holder.ID != id {
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
	}
	if err := service.release(ctx, s.blob, id); err != nil {
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("error when releasing lease for azure lock: %w", err)}
	}
	// Only now, as other programs that find a lease without a holder give up rather than wait.
	// Where somebody has the lease already, or this fails, what is there is written over by
	// the next lock.
	if holder != nil {
		_ = s.tell(ctx, service, nil, "")
	}
	s.lease = ""
	return nil
}
