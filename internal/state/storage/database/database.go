// Package database stores states as rows of a SQLite or PostgreSQL database: one row for each
// object, output and check result, with a version.
//
// It owns the tables and their migrations, the lock with its lease, notes, and earlier states. It
// doesn't look into objects beyond what package statefile takes apart, and doesn't connect
// before anything is asked.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// Type is the backend for configurations.
var Type = storage.Type{Schema: Schema, New: New}

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"url":    backendconfig.Optional(cty.String, "The database: sqlite:FILE or postgres://USER@HOST/DATABASE"),
		"schema": backendconfig.Optional(cty.String, "The PostgreSQL schema for the tables, weir by default"),
	}}
}

// lease is how long a lock outlives a process that doesn't renew it.
const lease = time.Minute

// A Backend is a database with states.
type Backend struct {
	*server
	crypt storage.Crypt // nil for none
}

// A server is a database and how it is reached.
type server struct {
	dialect *dialect
	place   string // of the tables, without credentials
	pulse   stalltimeout.Pulse
	lease   time.Duration

	address  string          // of the server, "" for a file
	patience time.Duration   // with the server
	file     string          // of SQLite
	schema   string          // of PostgreSQL
	config   *pgx.ConnConfig // of PostgreSQL

	mu       sync.Mutex
	db       *sql.DB
	migrated bool
}

// A fileBackend has its states on this machine, and so the journals, too.
type fileBackend struct {
	*Backend
	path string // of the database
}

// JournalPath implements storage.Journaled.
func (b fileBackend) JournalPath(workspace string) string {
	return b.path + "." + url.PathEscape(workspace) + ".journal"
}

// Sealed implements storage.Parted.
func (b fileBackend) Sealed(c storage.Crypt) storage.Backend {
	return fileBackend{&Backend{b.server, c}, b.path}
}

// New makes a backend from a configuration of the type of Schema. It doesn't connect.
func New(config cty.Value, env storage.Env) (storage.Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	address := r.Text("url", "WEIR_DATABASE_URL")
	s := &server{lease: lease, patience: r.Patience(), schema: r.TextOr("weir", "schema", "WEIR_DATABASE_SCHEMA")}
	kind, rest, _ := strings.Cut(address, ":")
	switch kind {
	case "sqlite":
		s.sqlite(r, strings.TrimPrefix(rest, "//"))
	case "postgres", "postgresql":
		s.postgres(r, address)
	default:
		r.Problem("url", "Invalid backend configuration", "The URL of the database must begin with sqlite: or postgres://, such as sqlite:states.db or postgres://user@host/database.")
	}
	switch b := (&Backend{server: s}); {
	case r.Diags.HasErrors():
		return nil, r.Diags
	case s.file != "":
		return fileBackend{b, s.file}, r.Diags
	default:
		return b, r.Diags
	}
}

func (s *server) sqlite(r *backendconfig.Reader, file string) {
	if file == "" || strings.Contains(file, "?") {
		r.Problem("url", "Invalid backend configuration", "The URL %q must name a file without options, such as sqlite:states.db.", "sqlite:"+file)
		return
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.Env.Dir, file)
	}
	s.dialect, s.file, s.place = &sqliteDialect, file, file
}

func (s *server) postgres(r *backendconfig.Reader, address string) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		r.Problem("url", "Invalid backend configuration", "The URL can't be used: %s. It is a URL such as postgres://user@host/database.", err)
		return
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return s.pulse.Conn(conn), nil
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "weir"
	}
	config.RuntimeParams["search_path"] = pgx.Identifier{s.schema}.Sanitize()
	s.dialect, s.config = &postgresDialect, config
	s.address = net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	s.place = fmt.Sprintf("%s/%s %s", s.address, config.Database, s.schema)
}

// Sealed implements storage.Parted.
func (b *Backend) Sealed(c storage.Crypt) storage.Backend { return &Backend{b.server, c} }

// Place is the database and the workspace.
func (b *Backend) Place(name string) string { return b.place + " " + name }

// Workspaces lists the rows.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	names := []string{storage.DefaultWorkspace}
	err := b.read(ctx, func(ctx context.Context, tx *sql.Tx) error {
		others, err := query(ctx, tx, func(r *sql.Rows) (name string, err error) {
			return name, r.Scan(&name)
		}, "SELECT name FROM states WHERE name <> $1", storage.DefaultWorkspace)
		slices.Sort(others)
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
	return b.write(ctx, func(ctx context.Context, tx *sql.Tx) error { return addWorkspace(ctx, tx, name) })
}

func addWorkspace(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := exec(ctx, tx, "INSERT INTO states (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", name)
	return err
}

// DeleteWorkspace removes all rows of the workspace.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("cannot delete default state")
	}
	return b.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, table := range []string{"objects", "objects_history", "outputs", "outputs_history", "checks", "checks_history", "states_history", "runs"} {
			if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE state = (SELECT id FROM states WHERE name = $1)", name); err != nil {
				return err
			}
		}
		for _, table := range []string{"states", "locks", "notes", "lock_holders", "object_locks"} {
			if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE name = $1", name); err != nil {
				return err
			}
		}
		return nil
	})
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b: b, name: name}, nil
}
