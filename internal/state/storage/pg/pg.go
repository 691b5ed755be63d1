// Package pg stores states in a table of a PostgreSQL database, one row for each workspace, in
// the layout and with the locks of OpenTofu and Terraform.
//
// It owns the table, and the locks: advisory locks of the server, which end with the session
// of the run that holds them. It doesn't look into the states, or connect before anything is
// asked.
package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Schema is the shape of the configuration. Anything that is left out comes from the
// environment: PG_ and the name in capitals.
func Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"conn_str":             backendconfig.Optional(cty.String, "The connection string: a postgres:// URL, or keywords and values"),
		"schema_name":          backendconfig.Optional(cty.String, "The schema for the table, terraform_remote_state by default"),
		"table_name":           backendconfig.Optional(cty.String, "The table for the states, states by default"),
		"index_name":           backendconfig.Optional(cty.String, "The index of the table, states_by_name by default"),
		"skip_schema_creation": backendconfig.Optional(cty.Bool, "Whether the schema exists already"),
		"skip_table_creation":  backendconfig.Optional(cty.Bool, "Whether the table exists already"),
		"skip_index_creation":  backendconfig.Optional(cty.Bool, "Whether the index exists already"),
	}}
}

// A Backend is a table of states.
type Backend struct {
	config               *pgx.ConnConfig
	schema, table, index string
	noSchema, noTable    bool
	noIndex              bool
	mu                   sync.Mutex // one query at a time on conn
	conn                 *pgx.Conn
	prepared             bool
	pulse                stalltimeout.Pulse // of all connections
	patience             time.Duration
}

// New makes a backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		schema:   r.TextOr("terraform_remote_state", "schema_name", "PG_SCHEMA_NAME"),
		table:    r.TextOr("states", "table_name", "PG_TABLE_NAME"),
		index:    r.TextOr("states_by_name", "index_name", "PG_INDEX_NAME"),
		noSchema: r.Bool("skip_schema_creation", "PG_SKIP_SCHEMA_CREATION"),
		noTable:  r.Bool("skip_table_creation", "PG_SKIP_TABLE_CREATION"),
		noIndex:  r.Bool("skip_index_creation", "PG_SKIP_INDEX_CREATION"),
	}
	var err error
	if b.config, err = pgx.ParseConfig(r.Text("conn_str", "PG_CONN_STR")); err != nil {
		r.Problem("conn_str", "Invalid backend configuration", "The connection string can't be used: %s. It is a URL such as postgres://user@host/database.", err)
	}
	b.patience = r.Patience()
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	dial := b.config.DialFunc
	b.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return b.pulse.Conn(conn), nil
	}
	if b.config.RuntimeParams["application_name"] == "" {
		b.config.RuntimeParams["application_name"] = "weir"
	}
	return b, r.Diags
}

// quote is names as they stand in a query.
func quote(names ...string) string { return pgx.Identifier(names).Sanitize() }

// states is the table.
func (b *Backend) states() string { return quote(b.schema, b.table) }

// holders is the table that reports who holds locks. Other programs don't have it.
func (b *Backend) holders() string { return quote(b.schema, b.table+"_lock_info") }

// watch runs what asks the server, until that does nothing for too long. A query
// that waits for the locks of another session is nothing as well.
func (b *Backend) watch(ctx context.Context, run func(context.Context) error) error {
	ctx, end := b.pulse.Watch(ctx, net.JoinHostPort(b.config.Host, strconv.Itoa(int(b.config.Port))), b.patience)
	defer end()
	return stalltimeout.Because(ctx, run(ctx))
}

// do runs queries on the common connection.
func (b *Backend) do(ctx context.Context, run func(context.Context, *pgx.Conn) error) error {
	return b.watch(ctx, func(ctx context.Context) error { return b.query(ctx, run) })
}

func (b *Backend) query(ctx context.Context, run func(context.Context, *pgx.Conn) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil && b.conn.IsClosed() {
		b.conn = nil
	}
	if b.conn == nil {
		conn, err := b.connect(ctx)
		if err != nil {
			return err
		}
		b.conn = conn
	}
	return run(ctx, b.conn)
}

// connect opens a session. The first one makes the table.
func (b *Backend) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, b.config)
	if err != nil {
		return nil, err
	}
	if !b.prepared {
		if err := b.prepare(ctx, conn); err != nil {
			conn.Close(ctx)
			return nil, err
		}
		b.prepared = true
	}
	return conn, nil
}

// sequence numbers the rows of all tables in a database: the numbers are those
// of the locks, which a database has only one set of.
const sequence = "public.global_states_id_seq"

// prepare makes what doesn't exist. Runs that start at the same time would
// stumble over each other, so there is a lock around it, and nothing is done
// where everything is there: the role may not be allowed to.
func (b *Backend) prepare(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after a commit
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", creationLock("weir", "prepare")); err != nil {
		return err
	}
	there := func(query string, args ...any) bool {
		var n int
		return tx.QueryRow(ctx, query, args...).Scan(&n) == nil && n > 0
	}
	if !b.noSchema && !there("SELECT count(*) FROM information_schema.schemata WHERE schema_name = $1", b.schema) {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quote(b.schema)); err != nil {
			return fmt.Errorf("the schema %q can't be created: %w", b.schema, err)
		}
	}
	table := func(name string) bool {
		return there("SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = $2", b.schema, name)
	}
	if !b.noTable {
		if !table(b.table) {
			_, err = tx.Exec(ctx, "CREATE SEQUENCE IF NOT EXISTS "+sequence+" AS bigint")
			if err == nil {
				_, err = tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+b.states()+" (id bigint NOT NULL DEFAULT nextval('"+sequence+"') PRIMARY KEY, name text UNIQUE, data text)")
			}
			if err != nil {
				return fmt.Errorf("the table %q can't be created: %w", b.table, err)
			}
		}
		if !table(b.table + notesSuffix) {
			b.optional(ctx, tx, "CREATE TABLE IF NOT EXISTS "+b.notes()+" (name text PRIMARY KEY, note bytea)")
		}
		if !table(b.table + "_lock_info") {
			b.optional(ctx, tx, "CREATE TABLE IF NOT EXISTS "+b.holders()+" (name text PRIMARY KEY, info text)")
		}
	}
	if !b.noIndex && !there("SELECT count(*) FROM pg_indexes WHERE schemaname = $1 AND indexname = $2", b.schema, b.index) {
		if _, err := tx.Exec(ctx, "CREATE UNIQUE INDEX IF NOT EXISTS "+quote(b.index)+" ON "+b.states()+" (name)"); err != nil {
			return fmt.Errorf("the index %q can't be created: %w", b.index, err)
		}
	}
	return tx.Commit(ctx)
}

// optional runs what may fail, without an end to the transaction around it.
func (b *Backend) optional(ctx context.Context, conn interface {
	Begin(context.Context) (pgx.Tx, error)
}, query string, args ...any) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return
	}
	if _, err := tx.Exec(ctx, query, args...); err != nil {
		_ = tx.Rollback(ctx)
		return
	}
	_ = tx.Commit(ctx)
}

// Workspaces lists the rows.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	names := []string{storage.DefaultWorkspace}
	err := b.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "SELECT name FROM "+b.states()+" WHERE name <> $1 ORDER BY name COLLATE \"C\"", storage.DefaultWorkspace)
		if err != nil {
			return err
		}
		others, err := pgx.CollectRows(rows, pgx.RowTo[string])
		names = append(names, others...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

// CreateWorkspace makes the row of the workspace.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("a workspace needs a name")
	}
	return b.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "INSERT INTO "+b.states()+" (name, data) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, storage.NoState)
		return err
	})
}

// DeleteWorkspace removes the row of the workspace.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("cannot delete default state")
	}
	return b.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DELETE FROM "+b.states()+" WHERE name = $1", name)
		if err == nil {
			b.optional(ctx, conn, "DELETE FROM "+b.notes()+" WHERE name = $1", name)
		}
		return err
	})
}

// Place is the table and the row.
func (b *Backend) Place(name string) string {
	return fmt.Sprintf("%s:%d/%s %s %s", b.config.Host, b.config.Port, b.config.Database, b.states(), name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b: b, name: name}, nil
}
