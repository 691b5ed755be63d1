package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// never is the end of a lease without one: that of the year 9999.
const never int64 = 253402300799

// KeepLock implements storage.Leased.
func (s *store) KeepLock(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		s.held.stop() // or it would shorten the lease again
	}
	var fence int64
	err := s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "UPDATE locks SET expires = $1 WHERE name = $2 AND id = $3 AND id <> '' RETURNING fence", never, s.name, id).Scan(&fence)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("the lock %s of the workspace %q was lost", id, s.name)
		}
		return err
	})
	if err == nil {
		s.held = &held{id: id, fence: fence, stop: func() {}}
	}
	return err
}
