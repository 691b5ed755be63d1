package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
)

// Runs that know which parts of a state they need work on it at the same time. Each has a row in
// lock_holders, and one in object_locks for each part. Every transaction that takes a lock first
// changes the row of the workspace in locks. So these transactions follow one another, each takes
// all its locks or none, and nobody waits for a lock while it has another one.

// LockParts implements storage.Concurrent.
func (s *store) LockParts(ctx context.Context, info storage.LockInfo, write, read []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info.Path = s.b.Place(s.name)
	writes, reads := sorted(write), sorted(read)
	err := s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.shareable(ctx, tx); err != nil {
			return err
		}
		if err := s.conflict(ctx, tx, writes, reads); err != nil {
			return err
		}
		_, err := exec(ctx, tx, "INSERT INTO lock_holders (name, id, info, expires) VALUES ($1, $2, $3, "+s.b.dialect.now+" + $4)", s.name, info.ID, string(info.JSON()), s.b.seconds())
		if err != nil {
			return err
		}
		if err := s.lockAll(ctx, tx, info.ID, reads, 0); err != nil {
			return err
		}
		return s.lockAll(ctx, tx, info.ID, writes, 1)
	})
	if err != nil {
		return "", err
	}
	s.hold(&held{id: info.ID, parts: true})
	return info.ID, nil
}

func sorted(list []string) []any {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	all := make([]any, len(list))
	for i, one := range list {
		all[i] = one
	}
	return all
}

// shareable keeps others from taking locks until the transaction ends, and fails if only the lock
// of the state will do: somebody has it, a run has left something, or the state has no rows.
func (s *store) shareable(ctx context.Context, tx *sql.Tx) error {
	if _, err := exec(ctx, tx, "INSERT INTO locks (name, id, info, fence, expires) VALUES ($1, '', '', 0, 0) ON CONFLICT (name) DO UPDATE SET name = excluded.name", s.name); err != nil {
		return err
	}
	var id, info string
	var live bool
	if err := tx.QueryRowContext(ctx, "SELECT id, info, expires >= "+s.b.dialect.now+" FROM locks WHERE name = $1", s.name).Scan(&id, &info, &live); err != nil {
		return err
	}
	if id != "" && live {
		holder, err := storage.ParseLockInfo([]byte(info))
		if err != nil {
			return err
		}
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("workspace %q is already locked", s.name)}
	}
	var left, ready int64
	err := tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM notes WHERE name = $1) + (SELECT count(*) FROM lock_holders WHERE name = $1 AND expires < "+s.b.dialect.now+"), (SELECT count(*) FROM states WHERE name = $1 AND version > 0 AND whole IS NULL)", s.name).Scan(&left, &ready)
	if err == nil && (id != "" || left > 0 || ready == 0) {
		return storage.ErrNoParts
	}
	return err
}

// conflict fails if somebody has a lock that excludes one of these.
func (s *store) conflict(ctx context.Context, tx *sql.Tx, write, read []any) error {
	type lock struct{ address, info string }
	var taken []lock
	for _, want := range []struct {
		list []any
		only string
	}{{write, ""}, {read, " AND l.writes = 1"}} {
		for list := range slices.Chunk(want.list, batch) {
			found, err := query(ctx, tx, func(r *sql.Rows) (l lock, err error) {
				return l, r.Scan(&l.address, &l.info)
			}, "SELECT l.address, h.info FROM object_locks l JOIN lock_holders h ON h.name = l.name AND h.id = l.id WHERE l.name = $1"+want.only+" AND l.address IN ("+marks(2, len(list))+")", append([]any{s.name}, list...)...)
			if err != nil {
				return err
			}
			taken = append(taken, found...)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	slices.SortFunc(taken, func(a, b lock) int { return strings.Compare(a.address, b.address) })
	holder, err := storage.ParseLockInfo([]byte(taken[0].info))
	if err != nil {
		return err
	}
	var addresses []string
	for _, l := range taken {
		if l.info == taken[0].info {
			addresses = append(addresses, l.address)
		}
	}
	const most = 20
	if addresses = slices.Compact(addresses); len(addresses) > most {
		addresses = append(addresses[:most:most], fmt.Sprintf("and %d more", len(addresses)-most))
	}
	return &storage.LockError{Holder: holder, Err: fmt.Errorf("that run works on %s", strings.Join(addresses, ", "))}
}

func (s *store) lockAll(ctx context.Context, tx *sql.Tx, id string, list []any, writes int64) error {
	for some := range slices.Chunk(list, batch) {
		var values []string
		args := []any{s.name, id, writes}
		for i, address := range some {
			values = append(values, fmt.Sprintf("($1, $2, $3, $%d)", i+4))
			args = append(args, address)
		}
		_, err := exec(ctx, tx, "INSERT INTO object_locks (name, id, writes, address) VALUES "+strings.Join(values, ", ")+" ON CONFLICT (name, address, id) DO UPDATE SET writes = excluded.writes", args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// alone fails if somebody has a lock of a part. Otherwise it ends the locks whose leases have
// ended, so that their runs can't write any more. Their notes stay.
func (s *store) alone(ctx context.Context, tx *sql.Tx) error {
	var info string
	err := tx.QueryRowContext(ctx, "SELECT info FROM lock_holders WHERE name = $1 AND expires >= "+s.b.dialect.now+" ORDER BY id LIMIT 1", s.name).Scan(&info)
	switch {
	case err == nil:
		holder, err := storage.ParseLockInfo([]byte(info))
		if err != nil {
			return err
		}
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("that run works on parts of workspace %q", s.name)}
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	_, err = s.release(ctx, tx, "")
	return err
}

// release ends the lock of parts with that id, or all with the empty one, and returns how many
// there were. Notes stay.
func (s *store) release(ctx context.Context, tx *sql.Tx, id string) (n int64, err error) {
	n, err = exec(ctx, tx, "UPDATE lock_holders SET expires = 0 WHERE name = $1 AND (id = $2 OR $2 = '') AND expires > 0", s.name, id)
	if err != nil || n == 0 {
		return n, err
	}
	if _, err = exec(ctx, tx, "DELETE FROM object_locks WHERE name = $1 AND (id = $2 OR $2 = '')", s.name, id); err != nil {
		return n, err
	}
	_, err = exec(ctx, tx, "DELETE FROM lock_holders WHERE name = $1 AND expires = 0 AND note IS NULL", s.name)
	return n, err
}

// Notes implements storage.Concurrent.
func (s *store) Notes(ctx context.Context) (notes [][]byte, err error) {
	err = s.b.read(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		notes, err = query(ctx, tx, func(r *sql.Rows) (note []byte, err error) {
			return note, r.Scan(&note)
		}, "SELECT note FROM notes WHERE name = $1 UNION ALL SELECT note FROM lock_holders WHERE name = $1 AND note IS NOT NULL AND expires < "+s.b.dialect.now, s.name)
		return err
	})
	return notes, err
}

// Wrote implements storage.Concurrent.
func (s *store) Wrote() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		return 0
	}
	return uint64(s.seen.serial) // #nosec G115 -- a serial counts runs
}

// merge writes the rows that differ from those that were read, and no others.
func (s *store) merge(ctx context.Context, parts *statefile.Parts) error {
	rows, ok := contentOf(parts)
	if !ok || s.seen == nil {
		return storage.ErrChanged
	}
	next := &seen{rows: rows}
	err := s.b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.fence(ctx, tx, s.held); err != nil {
			return err
		}
		r, err := s.find(ctx, tx, s.b.dialect.forUpdate)
		switch {
		case err != nil:
			return err
		case r == nil || r.whole != nil || r.id != s.seen.state:
			return storage.ErrChanged
		}
		at := position{state: r.id, version: r.version + 1, kept: r.kept}
		next.state, next.version, next.serial = r.id, at.version, r.serial
		if s.seen.serial != r.serial { // others have made the last state
			next.serial, at.kept = r.serial+1, r.version
			if err := s.keep(ctx, tx, r); err != nil {
				return err
			}
		}
		for i, t := range tables {
			keepOthers(s.seen.rows[i], next.rows[i])
			if i != checks { // the last result is the one that counts
				if err := unchanged(ctx, tx, t, r.id, s.seen.rows[i], next.rows[i]); err != nil {
					return err
				}
			}
			if err := s.save(ctx, tx, t, at, s.seen.rows[i], next.rows[i]); err != nil {
				return err
			}
		}
		if at.kept != r.kept {
			if err := prune(ctx, tx, at); err != nil {
				return err
			}
		}
		head, err := s.sealed([]byte(strings.Replace(parts.Head, fmt.Sprintf(`"serial": %d`, parts.Serial), fmt.Sprintf(`"serial": %d`, next.serial), 1)))
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, "UPDATE states SET version = $1, kept = $2, serial = $3, written_by = $4, head = $5 WHERE id = $6",
			at.version, at.kept, next.serial, parts.Version, string(head), at.state)
		return err
	})
	if err == nil {
		s.seen = next
	}
	return err
}

// keepOthers leaves the rows as they are whose text is the same: their places, and what stands in
// front of their resource's instances, follow from parts of others.
func keepOthers(before, next map[string]*row) {
	for address, r := range next {
		if old := before[address]; old != nil && old.text == r.text {
			next[address] = old
		}
	}
}

// unchanged fails if somebody else has written a row that differs between before and next.
func unchanged(ctx context.Context, tx *sql.Tx, t table, state int64, before, next map[string]*row) error {
	want := map[string]int64{} // 0 for none
	for address, r := range next {
		if old := before[address]; old != r {
			want[address] = versionOf(old)
		}
	}
	for address, old := range before {
		if next[address] == nil {
			want[address] = old.version
		}
	}
	there := make(map[string]int64, len(want))
	for list := range slices.Chunk(slices.Collect(maps.Keys(want)), batch) {
		args := []any{state}
		for _, address := range list {
			args = append(args, address)
		}
		_, err := query(ctx, tx, func(r *sql.Rows) (address string, err error) {
			var version int64
			err = r.Scan(&address, &version)
			there[address] = version
			return address, err
		}, "SELECT address, version FROM "+t.name+" WHERE state = $1 AND address IN ("+marks(2, len(list))+")", args...)
		if err != nil {
			return err
		}
	}
	for _, address := range slices.Sorted(maps.Keys(want)) {
		if there[address] != want[address] {
			return fmt.Errorf("%w: %s", storage.ErrChanged, address)
		}
	}
	return nil
}

func versionOf(r *row) int64 {
	if r == nil {
		return 0
	}
	return r.version
}
