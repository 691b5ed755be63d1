package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver" // registers itself

	"weir.dev/weir/internal/net/stalltimeout"
)

// A dialect is what the two databases don't write alike.
type dialect struct {
	id, bytes string // types of columns
	json      string // makes JSON of a text
	each      string // the function that lists an array
	value     string // names the column of each
	now       string // seconds since 1970, by the clock of the database
	forUpdate string // keeps others from a row until the transaction ends
	snapshot  sql.TxOptions
	tables    string // lists the tables of any program
	alone     string // keeps others from migrating meanwhile
}

var sqliteDialect = dialect{
	id: "INTEGER PRIMARY KEY AUTOINCREMENT", bytes: "BLOB", now: "unixepoch()", each: "json_each",
	snapshot: sql.TxOptions{ReadOnly: true}, // a write waits for reads to end
	tables:   "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
}

var postgresDialect = dialect{
	id: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", bytes: "BYTEA", now: "extract(epoch FROM clock_timestamp())::bigint",
	json: "::json", each: "json_array_elements_text", value: "(value)",
	forUpdate: " FOR UPDATE",
	snapshot:  sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
	tables:    "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename",
	alone:     "SELECT pg_advisory_xact_lock(837465901)",
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, tx *sql.Tx, text string, args ...any) (int64, error) {
	done, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// query has the values of some rows.
func query[T any](ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) (T, error), text string, args ...any) (list []T, err error) {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// read runs queries that see one moment.
func (s *server) read(ctx context.Context, run func(context.Context, *sql.Tx) error) error {
	return s.do(ctx, &s.dialect.snapshot, run)
}

// write runs queries that happen together or not at all.
func (s *server) write(ctx context.Context, run func(context.Context, *sql.Tx) error) error {
	return s.do(ctx, nil, run)
}

func (s *server) do(ctx context.Context, o *sql.TxOptions, run func(context.Context, *sql.Tx) error) error {
	if s.address != "" { // a query that waits for a lock of another session does nothing, either
		var end func()
		ctx, end = s.pulse.Watch(ctx, s.address, s.patience)
		defer end()
	}
	return stalltimeout.Because(ctx, s.explained(s.transaction(ctx, o, run)))
}

func (s *server) transaction(ctx context.Context, o *sql.TxOptions, run func(context.Context, *sql.Tx) error) error {
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	return inTransaction(ctx, db, o, run)
}

func inTransaction(ctx context.Context, db *sql.DB, o *sql.TxOptions, run func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	if err := run(ctx, tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// open connects, and the first time makes the tables.
func (s *server) open(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		db, err := s.connect()
		if err != nil {
			return nil, err
		}
		// Nobody closes a backend: connections without work close themselves.
		db.SetMaxIdleConns(1)
		db.SetConnMaxIdleTime(2 * time.Second)
		s.db = db
	}
	if !s.migrated {
		if err := s.migrate(ctx); err != nil {
			return nil, err
		}
		s.migrated = true
	}
	return s.db, nil
}

func (s *server) connect() (*sql.DB, error) {
	if s.file == "" {
		return stdlib.OpenDB(*s.config), nil
	}
	// States have secrets, so SQLite mustn't make the file. Its journal gets the same mode.
	_, missing := os.Stat(s.file)
	file, err := os.OpenFile(s.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if missing == nil {
		err = s.hasContent(file)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return s.openFile("_pragma=synchronous(extra)")
}

func (s *server) openFile(options string) (*sql.DB, error) {
	at := url.URL{Scheme: "file", Opaque: (&url.URL{Path: s.file}).EscapedPath(), RawQuery: "_pragma=busy_timeout(60000)&" + options}
	return sql.Open("sqlite3", at.String())
}

// migrations make the tables of a version from those of the one before. They are never changed
// once they were released.
var migrations = []string{`
CREATE TABLE states (
	id {id}, name TEXT NOT NULL UNIQUE,
	version BIGINT NOT NULL DEFAULT 0, kept BIGINT NOT NULL DEFAULT 0,
	serial BIGINT NOT NULL DEFAULT 0, lineage TEXT NOT NULL DEFAULT '', written_by TEXT NOT NULL DEFAULT '',
	head TEXT NOT NULL DEFAULT '', whole {bytes}
);
CREATE TABLE states_history (
	state BIGINT NOT NULL, version BIGINT NOT NULL,
	serial BIGINT NOT NULL, lineage TEXT NOT NULL, written_by TEXT NOT NULL,
	head TEXT NOT NULL, whole {bytes}, until BIGINT NOT NULL, replaced BIGINT NOT NULL,
	PRIMARY KEY (state, version)
);
CREATE TABLE objects (
	state BIGINT NOT NULL, address TEXT NOT NULL,
	module TEXT NOT NULL, mode TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL,
	instance TEXT NOT NULL, deposed TEXT NOT NULL, resource TEXT NOT NULL, dependencies TEXT NOT NULL,
	body TEXT NOT NULL, sealed INTEGER NOT NULL, version BIGINT NOT NULL,
	PRIMARY KEY (state, address)
);
CREATE TABLE objects_history (
	state BIGINT NOT NULL, address TEXT NOT NULL,
	module TEXT NOT NULL, mode TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL,
	instance TEXT NOT NULL, deposed TEXT NOT NULL, resource TEXT NOT NULL, dependencies TEXT NOT NULL,
	body TEXT NOT NULL, sealed INTEGER NOT NULL, version BIGINT NOT NULL, until BIGINT NOT NULL,
	PRIMARY KEY (state, address, version)
);
CREATE TABLE outputs (
	state BIGINT NOT NULL, address TEXT NOT NULL, place BIGINT NOT NULL,
	body TEXT NOT NULL, sealed INTEGER NOT NULL, version BIGINT NOT NULL,
	PRIMARY KEY (state, address)
);
CREATE TABLE outputs_history (
	state BIGINT NOT NULL, address TEXT NOT NULL, place BIGINT NOT NULL,
	body TEXT NOT NULL, sealed INTEGER NOT NULL, version BIGINT NOT NULL, until BIGINT NOT NULL,
	PRIMARY KEY (state, address, version)
);
CREATE TABLE checks (
	state BIGINT NOT NULL, address TEXT NOT NULL, place BIGINT NOT NULL,
	body TEXT NOT NULL, sealed INTEGER NOT NULL, version BIGINT NOT NULL,
	PRIMARY KEY (state, address)
);
CREATE TABLE checks_history (
	state BIGINT NOT NULL, address TEXT NOT NULL, place BIGINT NOT NULL,
	body TEXT NOT NULL, sealed INTEGER NOT NULL, version BIGINT NOT NULL, until BIGINT NOT NULL,
	PRIMARY KEY (state, address, version)
);
CREATE TABLE runs (state BIGINT NOT NULL, serial BIGINT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (state, serial));
CREATE TABLE locks (name TEXT PRIMARY KEY, id TEXT NOT NULL, info TEXT NOT NULL, fence BIGINT NOT NULL, expires BIGINT NOT NULL);
CREATE TABLE notes (name TEXT PRIMARY KEY, note {bytes} NOT NULL);
`, `
CREATE VIEW resources AS
	SELECT s.name AS workspace, o.address, o.module, o.mode, o.type, o.name, o.instance, o.deposed,
		CASE WHEN o.sealed = 0 THEN o.body{json} -> 'attributes' END AS attributes, o.version
	FROM objects o JOIN states s ON s.id = o.state;
CREATE VIEW dependencies AS
	SELECT s.name AS workspace, o.address, d.value AS needs
	FROM objects o JOIN states s ON s.id = o.state, {each}(CASE o.dependencies WHEN '' THEN '[]' ELSE o.dependencies END{json}) AS d{value};
CREATE VIEW output_values AS
	SELECT s.name AS workspace, o.address AS name,
		CASE WHEN o.sealed = 0 THEN o.body{json} -> 'value' END AS value,
		CASE WHEN o.sealed = 0 THEN o.body{json} -> 'type' END AS type, o.version
	FROM outputs o JOIN states s ON s.id = o.state;
CREATE VIEW history AS
	SELECT s.name AS workspace, r.serial, r.run{json} ->> 'who' AS author, r.run{json} ->> 'command' AS command,
		r.run{json} ->> 'ended' AS ended, CAST(r.run{json} ->> 'added' AS INTEGER) AS added,
		CAST(r.run{json} ->> 'changed' AS INTEGER) AS changed, CAST(r.run{json} ->> 'removed' AS INTEGER) AS removed
	FROM runs r JOIN states s ON s.id = r.state;
CREATE VIEW earlier_resources AS
	SELECT s.name AS workspace, o.address, o.type, o.name,
		CASE WHEN o.sealed = 0 THEN o.body{json} -> 'attributes' END AS attributes, o.version, o.until
	FROM objects_history o JOIN states s ON s.id = o.state;
`, `
DROP VIEW resources;
CREATE VIEW resources AS
	SELECT s.name AS workspace, o.address, o.module, o.mode, o.type, o.name, o.instance, o.deposed,
		(o.resource || ']}'){json} ->> 'provider' AS provider,
		CASE WHEN o.sealed = 0 THEN o.body{json} ->> 'status' END AS status,
		CASE WHEN o.sealed = 0 THEN o.body{json} -> 'attributes' END AS attributes, o.version
	FROM objects o JOIN states s ON s.id = o.state;
CREATE VIEW check_results AS
	SELECT s.name AS workspace, c.body{json} ->> 'object_kind' AS kind, c.body{json} ->> 'config_addr' AS address,
		c.body{json} ->> 'status' AS status, c.body{json} -> 'objects' AS objects, c.version
	FROM checks c JOIN states s ON s.id = c.state WHERE c.sealed = 0;
CREATE VIEW workspaces AS
	SELECT name AS workspace, version, serial, lineage, written_by FROM states;
CREATE VIEW held_locks AS
	SELECT name AS workspace, id, info{json} ->> 'Who' AS author, info{json} ->> 'Operation' AS operation,
		info{json} ->> 'Created' AS created, expires
	FROM locks WHERE id <> '';
`, `
CREATE TABLE lock_holders (
	name TEXT NOT NULL, id TEXT NOT NULL, info TEXT NOT NULL, expires BIGINT NOT NULL, note {bytes},
	PRIMARY KEY (name, id)
);
CREATE TABLE object_locks (
	name TEXT NOT NULL, address TEXT NOT NULL, id TEXT NOT NULL, writes INTEGER NOT NULL,
	PRIMARY KEY (name, address, id)
);
CREATE INDEX object_locks_id ON object_locks (name, id);
DROP VIEW held_locks;
CREATE VIEW held_locks AS
	SELECT name AS workspace, id, info{json} ->> 'Who' AS author, info{json} ->> 'Operation' AS operation,
		info{json} ->> 'Created' AS created, expires
	FROM locks WHERE id <> ''
	UNION ALL SELECT name, id, info{json} ->> 'Who', info{json} ->> 'Operation', info{json} ->> 'Created', expires
	FROM lock_holders WHERE expires > 0;
`}

// migrate brings the tables to the version of this program.
func (s *server) migrate(ctx context.Context) error {
	var version int
	err := inTransaction(ctx, s.db, &s.dialect.snapshot, func(ctx context.Context, tx *sql.Tx) (err error) {
		version, err = s.version(ctx, tx)
		return err
	})
	if err != nil || version == len(migrations) {
		return err // a role that may not make tables needn't
	}
	if err := inTransaction(ctx, s.db, nil, s.makeTables); err != nil {
		return fmt.Errorf("the tables can't be made: %w", err)
	}
	return nil
}

// makeSchema makes the schema of PostgreSQL. One that an administrator made needs no right to make some.
func (s *server) makeSchema(ctx context.Context, tx *sql.Tx) error {
	if _, err := exec(ctx, tx, s.dialect.alone); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRowContext(ctx, "SELECT current_schema() IS NOT NULL").Scan(&there); err != nil || there {
		return err
	}
	_, err := exec(ctx, tx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{s.schema}.Sanitize())
	return err
}

func (s *server) makeTables(ctx context.Context, tx *sql.Tx) error {
	if s.file == "" {
		if err := s.makeSchema(ctx, tx); err != nil {
			return err
		}
	}
	if _, err := exec(ctx, tx, "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"); err != nil {
		return err
	}
	var version int
	err := tx.QueryRowContext(ctx, "SELECT version FROM schema_version").Scan(&version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	names := strings.NewReplacer("{id}", s.dialect.id, "{bytes}", s.dialect.bytes,
		"{json}", s.dialect.json, "{each}", s.dialect.each, "{value}", s.dialect.value)
	for version < len(migrations) {
		for text := range strings.SplitSeq(names.Replace(migrations[version]), ";") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			if _, err := exec(ctx, tx, text); err != nil {
				return err
			}
		}
		version++
	}
	if _, err := exec(ctx, tx, "DELETE FROM schema_version"); err != nil {
		return err
	}
	_, err = exec(ctx, tx, "INSERT INTO schema_version (version) VALUES ($1)", version)
	return err
}
