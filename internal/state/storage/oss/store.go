package oss

import (
	"context"
	"crypto/md5" // #nosec G501 -- what other programs write
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/objectstore"
)

// store is the object of a state, and its rows in the table.
type store struct {
	b *Backend
	objectstore.State
}

// The table has the digest of the newest state. As with the tables of s3, that of a state is
// announced before its upload, in a column that other programs don't look at: a run that is
// killed in between leaves a state that is still taken.
const (
	newest    = "Digest"
	announced = "NextDigest"
)

// lockID is the row that is the lock, digestID the one with the digest.
func (s *store) lockID() string { return s.b.bucket + "/" + s.Key }

func (s *store) digestID() string { return s.lockID() + "-md5" }

// digest is what the table has for a state, "" for none.
func digest(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	sum := md5.Sum(content)
	return hex.EncodeToString(sum[:])
}

// Read implements storage.Store. Where the state isn't yet what its digest says, a while
// later it is.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	deadline := time.Now().Add(s.b.Patience)
	for {
		content, err := s.Stored(ctx)
		if err != nil {
			return nil, err
		}
		if !s.stale(ctx, content) {
			if string(content) == storage.NoState {
				return nil, nil
			}
			return content, nil
		}
		if !time.Now().Before(deadline) {
			return nil, fmt.Errorf(badDigest, digest(content))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(s.b.Pause):
		}
	}
}

const badDigest = `state data in OSS does not have the expected content.

The table has the digest of another state. Either the bucket is slow to show what was written last, and a minute or two help, or somebody changed one of them. If it stays so, make sure that the state is the right one and set Digest in the row of the table in Tablestore to: %s`

// stale reports whether the table has the digest of another state. Where it has none, and
// for who may not read the table, any state is good.
func (s *store) stale(ctx context.Context, content []byte) bool {
	if s.b.table == nil {
		return false
	}
	found, err := s.b.table.get(ctx, s.digestID(), newest, announced)
	is, want := digest(content), found[newest]
	switch {
	case err != nil || len(want) != hex.EncodedLen(md5.Size) || want == is:
		return false
	case is == "" || found[announced] != is:
		return true
	}
	// Its writer was killed, or has not come to it yet. Without the right to write, other
	// programs wait for the next state.
	_ = s.b.table.put(ctx, s.digestID(), anyRow, cell{newest, is})
	return false
}

// Write implements storage.Store: the state, and then its digest.
func (s *store) Write(ctx context.Context, state []byte) error {
	t := s.b.table
	if t == nil {
		return s.State.Write(ctx, state)
	}
	found, err := t.get(ctx, s.digestID(), newest)
	if err == nil {
		next := []cell{{announced, digest(state)}}
		if is := found[newest]; is != "" {
			next = append(next, cell{newest, is})
		}
		err = t.put(ctx, s.digestID(), anyRow, next...)
	}
	if err != nil {
		return fmt.Errorf("the digest of the state can't be stored: %w", err)
	}
	if err := s.State.Write(ctx, state); err != nil {
		return err
	}
	if err := t.put(ctx, s.digestID(), anyRow, cell{newest, digest(state)}); err != nil {
		return fmt.Errorf("the state was uploaded, but its digest %s wasn't stored: %w", digest(state), err)
	}
	return nil
}

// Lock implements storage.Store: it puts the row, as long as none exists.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if s.b.table == nil {
		return "", nil
	}
	info.Path = s.lockID()
	err := s.b.table.put(ctx, s.lockID(), noRow, cell{infoCell, string(info.JSON())})
	if err == nil {
		return info.ID, nil
	}
	if !conditionFailed(err) {
		return "", fmt.Errorf("the lock can't be stored in the table %q: %w", s.b.table.name, err)
	}
	holder, _, problem := s.holder(ctx)
	if problem == nil && holder != nil && holder.ID == info.ID {
		return info.ID, nil // the answer to an earlier try was lost
	}
	return "", &storage.LockError{Holder: holder, Err: errors.Join(err, problem)}
}

// holder is who put the row, nil for nobody, and the text of it.
func (s *store) holder(ctx context.Context) (*storage.LockInfo, string, error) {
	found, err := s.b.table.get(ctx, s.lockID(), infoCell)
	if err != nil || found == nil {
		return nil, "", err
	}
	holder, err := storage.ParseLockInfo([]byte(found[infoCell]))
	if err != nil {
		err = fmt.Errorf("the row %q in the table %q: %w", s.lockID(), s.b.table.name, err)
	}
	return holder, found[infoCell], err
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (*storage.LockInfo, error) {
	if s.b.table == nil {
		return nil, nil
	}
	holder, _, err := s.holder(ctx)
	return holder, err
}

// Unlock implements storage.Store.
func (s *store) Unlock(ctx context.Context, id string) error {
	if s.b.table == nil {
		return storage.WithoutLock(id)
	}
	holder, info, err := s.holder(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("failed to retrieve lock info: %w", err)
	case holder == nil:
		return fmt.Errorf("there is no lock %q in the table %q", s.lockID(), s.b.table.name)
	case holder.ID != id:
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
	}
	err = s.b.table.remove(ctx, s.lockID(), info)
	if conditionFailed(err) {
		now, _, problem := s.holder(ctx)
		return &storage.LockError{Holder: now, Err: errors.Join(err, problem)}
	}
	return err
}
