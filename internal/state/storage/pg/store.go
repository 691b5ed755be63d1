package pg

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"weir.dev/weir/internal/state/storage"
)

// store is one row.
type store struct {
	b    *Backend
	name string

	mu   sync.Mutex
	held *held
	seen *seen
}

// seen is the row that was read or written last. Its version is the number of
// the transaction that wrote it, which the server keeps with each row: it is
// another one after any write, by whatever engine.
type seen struct {
	there   bool
	version string
}

// held is a lock. Its session has the advisory lock and does everything while
// it is held: when the server has ended the session, the lock is somebody
// else's, and nothing can be written any more.
type held struct {
	id   string
	key  int64 // of the advisory lock
	conn *pgx.Conn
}

// do runs queries on the session of the lock, or else on the common one.
func (s *store) do(ctx context.Context, run func(context.Context, *pgx.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return s.b.do(ctx, run)
	}
	if s.held.conn.IsClosed() {
		return errors.New("the connection that held the lock was lost, so somebody else may hold the lock by now")
	}
	return s.b.watch(ctx, func(ctx context.Context) error { return run(ctx, s.held.conn) })
}

// Read returns the content of the row.
func (s *store) Read(ctx context.Context) (content []byte, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var data *string
		row := seen{there: true}
		s.seen = nil
		err := conn.QueryRow(ctx, "SELECT data, xmin::text FROM "+s.b.states()+" WHERE name = $1", s.name).Scan(&data, &row.version)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			row.there = false
		case err != nil:
			return err
		case data == nil || *data == storage.NoState:
		case *data == "":
			return storage.ErrEmptyState
		default:
			content = []byte(*data)
		}
		s.seen = &row
		return nil
	})
	return content, err
}

// Write replaces the content of the row.
func (s *store) Write(ctx context.Context, state []byte) error {
	return s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		insert := "INSERT INTO " + s.b.states() + " (name, data) VALUES ($1, $2) ON CONFLICT (name) "
		args := []any{s.name, string(state)}
		var query string
		switch {
		case s.seen == nil:
			query = insert + "DO UPDATE SET data = excluded.data"
		case s.seen.there:
			query = "UPDATE " + s.b.states() + " SET data = $2 WHERE name = $1 AND xmin::text = $3"
			args = append(args, s.seen.version)
		default: // a workspace that was made meanwhile has no state yet
			query = insert + "DO UPDATE SET data = excluded.data WHERE " + s.b.states() + ".data = $3"
			args = append(args, storage.NoState)
		}
		row := seen{there: true}
		err := conn.QueryRow(ctx, query+" RETURNING xmin::text", args...).Scan(&row.version)
		if errors.Is(err, pgx.ErrNoRows) {
			return storage.ErrChanged
		}
		if err == nil {
			s.seen = &row
		}
		return err
	})
}

// creationLock is the advisory lock for rows that don't exist yet, the same that other
// programs take.
func creationLock(schema, table string) int64 {
	h := fnv.New32()
	h.Write([]byte(schema + "\x00" + table))
	return -int64(h.Sum32())
}

// Lock takes the advisory lock of the row, in a session of its own.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.b.watch(ctx, func(ctx context.Context) error {
		id, err = s.lock(ctx, info)
		return err
	})
	return id, err
}

func (s *store) lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if s.held != nil {
		return "", &storage.LockError{Holder: s.holder(ctx, s.held.conn), Err: fmt.Errorf("workspace %q is already locked", s.name)}
	}
	// The common connection makes the table, if need be.
	if err := s.b.do(ctx, func(context.Context, *pgx.Conn) error { return nil }); err != nil {
		return "", err
	}
	conn, err := s.b.connect(ctx)
	if err != nil {
		return "", err
	}
	key, err := s.acquire(ctx, conn)
	if err != nil {
		release(ctx, conn)
		return "", err
	}
	if info.Path, err = lockPath(ctx, conn, key); err != nil {
		release(ctx, conn)
		return "", err
	}
	s.b.optional(ctx, conn, "INSERT INTO "+s.b.holders()+" (name, info) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET info = excluded.info", s.name, string(info.JSON()))
	s.held = &held{id: info.ID, key: key, conn: conn}
	return info.ID, nil
}

// acquire takes the lock of the row. Anyone who is about to make a row holds the lock of the
// table, and keeps others from the new row with it.
func (s *store) acquire(ctx context.Context, conn *pgx.Conn) (int64, error) {
	creating := creationLock(s.b.schema, s.b.table)
	var key int64
	var row, table bool
	err := conn.QueryRow(ctx, "SELECT id, pg_try_advisory_lock(id), pg_try_advisory_lock($1) FROM "+s.b.states()+" WHERE name = $2", creating, s.name).Scan(&key, &row, &table)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", creating).Scan(&table); err != nil {
			return 0, err
		}
		if !table {
			return 0, &storage.LockError{Holder: s.holder(ctx, conn), Err: fmt.Errorf("already locked for workspace creation: %s", s.name)}
		}
		return creating, nil
	case err != nil:
		return 0, err
	case !row || !table: // what was taken ends with the connection
		return 0, &storage.LockError{Holder: s.holder(ctx, conn), Err: fmt.Errorf("workspace is already locked: %s", s.name)}
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", creating)
	return key, err
}

// holder reports who holds the lock, as far as is known. Remains of a run say nothing about another program that has the lock now.
func (s *store) holder(ctx context.Context, conn *pgx.Conn) *storage.LockInfo {
	info := s.noted(ctx, conn)
	if info == nil {
		return nil
	}
	var n int
	key, session := cutPath(info.Path)
	if conn.QueryRow(ctx, "SELECT count(*)"+holding, key, session).Scan(&n) != nil || n == 0 {
		return nil
	}
	return info
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (holder *storage.LockInfo, err error) {
	err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		holder = s.noted(ctx, conn)
		return nil
	})
	return holder, err
}

// noted is who took the lock last and didn't release it.
func (s *store) noted(ctx context.Context, conn *pgx.Conn) *storage.LockInfo {
	var text string
	if conn.QueryRow(ctx, "SELECT info FROM "+s.b.holders()+" WHERE name = $1", s.name).Scan(&text) != nil {
		return nil
	}
	info, err := storage.ParseLockInfo([]byte(text))
	if err != nil {
		return nil
	}
	return info
}

// Unlock releases the lock.
func (s *store) Unlock(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.watch(ctx, func(ctx context.Context) error { return s.unlock(ctx, id) })
}

func (s *store) unlock(ctx context.Context, id string) error {
	if s.held == nil {
		return s.b.do(ctx, func(ctx context.Context, conn *pgx.Conn) error { return s.force(ctx, conn, id) })
	}
	h := s.held
	if id != h.id {
		return &storage.LockError{Holder: s.holder(ctx, h.conn), Err: fmt.Errorf("invalid lock id: %q", id)}
	}
	s.held = nil
	s.b.optional(ctx, h.conn, "DELETE FROM "+s.b.holders()+" WHERE name = $1", s.name)
	err := release(ctx, h.conn)
	if err == nil {
		err = ctx.Err() // whether the server knows isn't certain
	}
	return err
}

// release lets go of all locks of a session and ends it. The end alone would be
// enough, and is where the server doesn't answer, but it comes some time after
// the connection is closed, and the next run would find the lock.
func release(ctx context.Context, conn *pgx.Conn) error {
	_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	return conn.Close(ctx)
}

// force removes what a run left behind. Its lock ended with its session; where
// the server doesn't know yet that the run has ended, the session is ended.
func (s *store) force(ctx context.Context, conn *pgx.Conn, id string) error {
	info := s.noted(ctx, conn)
	if info == nil {
		return fmt.Errorf("workspace %q is not locked, or by another program, whose locks end with its connection", s.name)
	}
	if info.ID != id {
		return &storage.LockError{Holder: info, Err: fmt.Errorf("lock id %q does not match existing lock", id)}
	}
	if err := endSession(ctx, conn, info.Path); err != nil {
		return fmt.Errorf("the session that holds the lock can't be ended: %w", err)
	}
	// Somebody else may have taken the lock by now.
	_, err := conn.Exec(ctx, "DELETE FROM "+s.b.holders()+" WHERE name = $1 AND info::json ->> 'ID' = $2", s.name, id)
	return err
}

// A session is distinguished from any other that the server had by its process and its start.
// Path is where a lock's information has it, behind the key.
const identity = "pid || '-' || (extract(epoch FROM backend_start) * 1000000)::bigint"

// holding finds the session $2 as long as it holds the advisory lock $1.
const holding = ` FROM pg_locks JOIN pg_stat_activity USING (pid)
	WHERE locktype = 'advisory' AND objsubid = 1 AND granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND ((classid::bigint << 32) | objid::bigint) = $1 AND ` + identity + ` = $2`

// lockPath names an advisory lock and the session of the connection.
func lockPath(ctx context.Context, conn *pgx.Conn, key int64) (string, error) {
	var id string
	err := conn.QueryRow(ctx, "SELECT "+identity+" FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&id)
	return fmt.Sprintf("%d/%s", key, id), err
}

func cutPath(path string) (key int64, session string) {
	number, session, _ := strings.Cut(path, "/")
	key, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, ""
	}
	return key, session
}

// endSession ends the session that took a lock, unless it has ended, and waits
// until it has let go of the lock.
func endSession(ctx context.Context, conn *pgx.Conn, path string) error {
	key, session := cutPath(path)
	if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid)"+holding, key, session); err != nil {
		return err
	}
	for range 100 {
		var left int
		if err := conn.QueryRow(ctx, "SELECT count(*)"+holding, key, session).Scan(&left); err != nil || left == 0 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("it doesn't end")
}
