package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"weir.dev/weir/internal/state/storage"
)

// notes is the table of notes. Other programs don't have it, and roles that may not make
// tables don't get it.
func (b *Backend) notes() string { return quote(b.schema, b.table+notesSuffix) }

const notesSuffix = "_intents"

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) (note []byte, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, "SELECT note FROM "+s.b.notes()+" WHERE name = $1", s.name).Scan(&note)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return note, s.b.noting(err)
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	return s.b.noting(s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if note == nil {
			_, err := conn.Exec(ctx, "DELETE FROM "+s.b.notes()+" WHERE name = $1", s.name)
			return err
		}
		_, err := conn.Exec(ctx, "INSERT INTO "+s.b.notes()+" (name, note) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET note = excluded.note", s.name, note)
		return err
	}))
}

// Conditions of PostgreSQL.
const (
	noTable    = "42P01"
	noSchema   = "3F000"
	notAllowed = "42501"
)

// noting reports where the role has the table of states only.
func (b *Backend) noting(err error) error {
	var told *pgconn.PgError
	if errors.As(err, &told) && (told.Code == noTable || told.Code == noSchema || told.Code == notAllowed) {
		return fmt.Errorf("%w: the table %s: %w", storage.ErrNoNotes, b.notes(), err)
	}
	return err
}
