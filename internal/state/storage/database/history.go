package database

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// keep has a version stay readable when the next one is written.
func (s *store) keep(ctx context.Context, tx *sql.Tx, r *stateRow) error {
	_, err := exec(ctx, tx, "INSERT INTO states_history (state, version, serial, lineage, written_by, head, whole, until, replaced)"+
		" SELECT id, version, serial, lineage, written_by, head, whole, $1, "+s.b.dialect.now+" FROM states WHERE id = $2", r.version+1, r.id)
	return err
}

// prune forgets versions that are too old.
func prune(ctx context.Context, tx *sql.Tx, at position) error {
	var oldest sql.NullInt64
	err := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT min(version) FROM (SELECT version FROM states_history WHERE state = $1 ORDER BY version DESC LIMIT %d) AS latest", storage.EarlierStates), at.state).Scan(&oldest)
	if err != nil || !oldest.Valid {
		return err
	}
	if _, err := exec(ctx, tx, "DELETE FROM states_history WHERE state = $1 AND version < $2", at.state, oldest.Int64); err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := exec(ctx, tx, "DELETE FROM "+t.name+"_history WHERE state = $1 AND until <= $2", at.state, oldest.Int64); err != nil {
			return err
		}
	}
	_, err = exec(ctx, tx, "DELETE FROM runs WHERE state = $1 AND serial < (SELECT min(serial) FROM states_history WHERE state = $1)", at.state)
	return err
}

// Earlier implements storage.Historian.
func (s *store) Earlier(ctx context.Context) (list []storage.EarlierState, err error) {
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		list, err = query(ctx, tx, func(r *sql.Rows) (e storage.EarlierState, err error) {
			var replaced int64
			err = r.Scan(&e.Serial, &replaced)
			e.Until = time.Unix(replaced, 0)
			return e, err
		}, "SELECT h.serial, h.replaced FROM states_history h JOIN states s ON s.id = h.state WHERE s.name = $1 ORDER BY h.version DESC", s.name)
		return err
	})
	return list, err
}

// ReadEarlier implements storage.Historian.
func (s *store) ReadEarlier(ctx context.Context, serial uint64) (text []byte, err error) {
	other := &store{b: s.b, name: s.name} // what is read isn't what a write replaces
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var r stateRow
		err := tx.QueryRowContext(ctx, "SELECT h.state, h.version, h.head, h.whole FROM states_history h JOIN states s ON s.id = h.state WHERE s.name = $1 AND h.serial = $2 ORDER BY h.version DESC LIMIT 1", s.name, int64(serial)).
			Scan(&r.id, &r.version, &r.head, &r.whole) // #nosec G115 -- a serial counts runs
		if err != nil {
			return err
		}
		text, _, err = other.join(ctx, tx, &r, r.version)
		return err
	})
	return text, err
}

// Record implements storage.Historian.
func (s *store) Record(ctx context.Context, serial uint64, run []byte) error {
	return s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := exec(ctx, tx, "INSERT INTO runs (state, serial, run) SELECT id, $1, $2 FROM states WHERE name = $3"+
			" ON CONFLICT (state, serial) DO UPDATE SET run = excluded.run", int64(serial), string(run), s.name) // #nosec G115 -- as above
		return err
	})
}

// Records implements storage.Historian.
func (s *store) Records(ctx context.Context) (list [][]byte, err error) {
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		list, err = query(ctx, tx, func(r *sql.Rows) (run []byte, err error) {
			return run, r.Scan(&run)
		}, "SELECT r.run FROM runs r JOIN states s ON s.id = r.state WHERE s.name = $1 ORDER BY r.serial DESC", s.name)
		return err
	})
	return list, err
}
