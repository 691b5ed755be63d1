package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
)

// A store is the state of one workspace.
type store struct {
	b    *Backend
	name string

	mu        sync.Mutex
	seen      *seen
	held      *held
	migrating bool // what was read last isn't encrypted as it should be
}

// seen is what was read or written last.
type seen struct {
	state, version int64
	rows           content
	serial         int64 // that this store has given the state beside others, 0 for none
}

// A position is where a write puts rows.
type position struct {
	state   int64
	version int64 // what is written
	kept    int64 // the last version that can be read again
}

// Migrating reports whether what was read last isn't encrypted as it should be.
func (s *store) Migrating() bool { return s.migrating }

// A stateRow is the row of a state.
type stateRow struct {
	id, version, kept int64
	serial            int64
	head              string
	whole             []byte
}

// find reads the row of the state; it is nil where nobody has made it.
func (s *store) find(ctx context.Context, tx *sql.Tx, how string) (*stateRow, error) {
	var r stateRow
	err := tx.QueryRowContext(ctx, "SELECT id, version, kept, serial, head, whole FROM states WHERE name = $1"+how, s.name).
		Scan(&r.id, &r.version, &r.kept, &r.serial, &r.head, &r.whole)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &r, err
}

// Read puts the state together from its rows.
func (s *store) Read(ctx context.Context) (text []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r, err := s.find(ctx, tx, "")
		if err != nil {
			return err
		}
		now := &seen{}
		s.migrating = false
		if r != nil && r.version > 0 {
			now.state, now.version = r.id, r.version
			if text, now.rows, err = s.join(ctx, tx, r, 0); err != nil {
				return err
			}
		}
		s.seen = now
		return nil
	})
	return text, err
}

// join is the text of a state, now or at a version, with its rows.
func (s *store) join(ctx context.Context, tx *sql.Tx, r *stateRow, version int64) (text []byte, rows content, err error) {
	if r.whole != nil {
		if len(r.whole) == 0 {
			return nil, rows, storage.ErrEmptyState
		}
		text, err = s.unsealed(r.whole)
		return text, rows, err
	}
	head, err := s.unsealed([]byte(r.head))
	if err != nil {
		return nil, rows, err
	}
	if rows, err = s.load(ctx, tx, r.id, version); err != nil {
		return nil, rows, err
	}
	for _, list := range rows {
		for _, one := range list {
			s.migrating = s.migrating || one.stale
		}
	}
	p := &statefile.Parts{Head: string(head)}
	rows.parts(p)
	return p.Join(), rows, nil
}

// unsealed is a text that was encrypted as a state.
func (s *store) unsealed(text []byte) ([]byte, error) {
	if s.b.crypt == nil {
		return text, nil
	}
	text, migrating, err := s.b.crypt.Open(text)
	s.migrating = s.migrating || migrating
	return text, err
}

func (s *store) sealed(text []byte) ([]byte, error) {
	if s.b.crypt == nil {
		return text, nil
	}
	return s.b.crypt.Seal(text)
}

// Write writes the rows that differ.
func (s *store) Write(ctx context.Context, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, apart := statefile.Split(text)
	apart = apart && utf8.Valid(text) // PostgreSQL stores no other texts
	if s.held != nil && s.held.parts {
		if !apart {
			return errors.New("the state has a layout that other runs can't write at the same time")
		}
		return s.merge(ctx, parts)
	}
	next := &seen{}
	head, whole := "", text
	if apart {
		if next.rows, apart = contentOf(parts); apart {
			head, whole = parts.Head, nil
		}
	}
	if !apart {
		parts, next.rows = &statefile.Parts{}, content{}
	}
	stored, err := s.sealed(append([]byte(head), whole...))
	if err != nil {
		return err
	}
	if apart {
		head = string(stored)
	} else if whole = stored; whole == nil {
		whole = []byte{}
	}
	err = s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.fence(ctx, tx, s.held); err != nil {
			return err
		}
		r, err := s.find(ctx, tx, s.b.dialect.forUpdate)
		if err == nil && r == nil {
			if err = addWorkspace(ctx, tx, s.name); err == nil {
				r, err = s.find(ctx, tx, s.b.dialect.forUpdate)
			}
		}
		switch {
		case err != nil:
			return err
		case r == nil:
			return errors.New("the workspace was deleted meanwhile")
		case s.seen != nil && (s.seen.version != r.version || r.version > 0 && s.seen.state != r.id):
			return storage.ErrChanged
		}
		before := content{}
		if s.seen != nil {
			before = s.seen.rows
		} else if before, err = addresses(ctx, tx, r.id); err != nil {
			return err
		}
		at := position{state: r.id, version: r.version + 1, kept: r.kept}
		if r.version > 0 && r.serial != int64(parts.Serial) { // #nosec G115 -- a serial counts runs
			if at.kept, err = r.version, s.keep(ctx, tx, r); err != nil {
				return err
			}
		}
		next.state, next.version = at.state, at.version
		for i, t := range tables {
			if err := s.save(ctx, tx, t, at, before[i], next.rows[i]); err != nil {
				return err
			}
		}
		if at.kept != r.kept {
			if err := prune(ctx, tx, at); err != nil {
				return err
			}
		}
		_, err = exec(ctx, tx, "UPDATE states SET version = $1, kept = $2, serial = $3, lineage = $4, written_by = $5, head = $6, whole = $7 WHERE id = $8",
			at.version, at.kept, int64(parts.Serial), parts.Lineage, parts.Version, head, whole, at.state) // #nosec G115 -- as above
		return err
	})
	if err == nil {
		s.seen, s.migrating = next, false
	}
	return err
}

// addresses are the rows of a state, without what they say.
func addresses(ctx context.Context, tx *sql.Tx, state int64) (c content, err error) {
	for i, t := range tables {
		list, err := query(ctx, tx, func(r *sql.Rows) (*row, error) {
			one := &row{stale: true}
			return one, r.Scan(&one.address)
		}, "SELECT address FROM "+t.name+" WHERE state = $1", state)
		if err != nil {
			return c, err
		}
		c[i] = make(map[string]*row, len(list))
		for _, one := range list {
			c[i][one.address] = one
		}
	}
	return c, nil
}

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) (note []byte, err error) {
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT note FROM notes WHERE name = $1", s.name).Scan(&note)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return note, err
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	s.mu.Lock()
	h := s.held
	s.mu.Unlock()
	return s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.fence(ctx, tx, h); err != nil {
			return err
		}
		if h != nil && h.parts {
			var stored any // nil isn't an empty text
			if note != nil {
				stored = note
			}
			_, err := exec(ctx, tx, "UPDATE lock_holders SET note = $1 WHERE name = $2 AND id = $3", stored, s.name, h.id)
			return err
		}
		if _, err := exec(ctx, tx, "DELETE FROM lock_holders WHERE name = $1 AND expires = 0", s.name); err != nil {
			return err
		}
		if note == nil {
			_, err := exec(ctx, tx, "DELETE FROM notes WHERE name = $1", s.name)
			return err
		}
		_, err := exec(ctx, tx, "INSERT INTO notes (name, note) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET note = excluded.note", s.name, note)
		return err
	})
}

// fence fails a write of a run whose lock somebody else has by now. It keeps others from taking
// it until the transaction ends.
func (s *store) fence(ctx context.Context, tx *sql.Tx, h *held) error {
	if h == nil {
		return nil
	}
	var n int64
	text, args := "SELECT fence FROM locks WHERE name = $1 AND id = $2 AND fence = $3", []any{s.name, h.id, h.fence}
	if h.parts {
		text, args = "SELECT expires FROM lock_holders WHERE name = $1 AND id = $2 AND expires > 0", args[:2]
	}
	err := tx.QueryRowContext(ctx, text+s.b.dialect.forUpdate, args...).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("the lock %s was lost, because it wasn't renewed for %s or somebody released it, so somebody else may hold the lock by now", h.id, s.b.lease)
	}
	return err
}
