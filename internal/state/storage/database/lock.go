package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// held is a lock. It is renewed until stop.
type held struct {
	id    string
	fence int64 // grows with each holder
	parts bool  // of the state, by object_locks
	stop  context.CancelFunc
}

// Lock takes the lock unless somebody holds it whose lease hasn't ended.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info.Path = s.b.Place(s.name)
	var fence int64
	err := s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.b.dialect.now
		err := tx.QueryRowContext(ctx, "INSERT INTO locks (name, id, info, fence, expires) VALUES ($1, $2, $3, 1, "+now+" + $4)"+
			" ON CONFLICT (name) DO UPDATE SET id = excluded.id, info = excluded.info, fence = locks.fence + 1, expires = excluded.expires"+
			" WHERE locks.id = '' OR locks.expires < "+now+" RETURNING fence",
			s.name, info.ID, string(info.JSON()), s.b.seconds()).Scan(&fence)
		if err == nil {
			return s.alone(ctx, tx)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		holder, err := s.holder(ctx, tx)
		if err != nil {
			return err
		}
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("workspace %q is already locked", s.name)}
	})
	if err != nil {
		return "", err
	}
	s.hold(&held{id: info.ID, fence: fence})
	return info.ID, nil
}

// hold renews a lock from now on.
func (s *store) hold(h *held) {
	if s.held != nil {
		s.held.stop() // it was lost
	}
	renewing, stop := context.WithCancel(context.Background())
	h.stop, s.held = stop, h
	go s.renew(renewing, h)
}

// seconds is the lease as the database counts.
func (s *server) seconds() int64 { return int64(max(s.lease/time.Second, 1)) }

// renew extends the lease while this process runs. One that was lost stays lost.
func (s *store) renew(ctx context.Context, h *held) {
	table := "locks"
	if h.parts {
		table = "lock_holders"
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.b.lease / 4):
		}
		var lost bool
		err := s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			n, err := exec(ctx, tx, "UPDATE "+table+" SET expires = "+s.b.dialect.now+" + $1 WHERE name = $2 AND id = $3 AND expires > 0", s.b.seconds(), s.name, h.id)
			lost = n == 0
			return err
		})
		if err == nil && lost {
			return
		}
	}
}

// holder is who has the lock, or one of those who have locks of parts, nil for nobody.
func (s *store) holder(ctx context.Context, tx *sql.Tx) (*storage.LockInfo, error) {
	var text string
	err := tx.QueryRowContext(ctx, "SELECT info FROM locks WHERE name = $1 AND id <> ''", s.name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, "SELECT info FROM lock_holders WHERE name = $1 AND expires > 0 ORDER BY id LIMIT 1", s.name).Scan(&text)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return storage.ParseLockInfo([]byte(text))
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (holder *storage.LockInfo, err error) {
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
		holder, err = s.holder(ctx, tx)
		return err
	})
	return holder, err
}

// Unlock releases the lock with that id.
func (s *store) Unlock(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := exec(ctx, tx, "UPDATE locks SET id = '', info = '' WHERE name = $1 AND id = $2 AND id <> ''", s.name, id)
		if err != nil || n > 0 {
			return err
		}
		if n, err = s.release(ctx, tx, id); err != nil || n > 0 {
			return err
		}
		holder, err := s.holder(ctx, tx)
		switch {
		case err != nil:
			return err
		case holder == nil:
			return fmt.Errorf("workspace %q is not locked", s.name)
		}
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
	})
	if err == nil && s.held != nil && s.held.id == id {
		s.held.stop()
		s.held = nil
	}
	return err
}
