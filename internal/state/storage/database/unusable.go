package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/state/storage"
)

// Check implements storage.Checked. It makes the tables.
func (b *Backend) Check(ctx context.Context) error {
	return b.read(ctx, func(context.Context, *sql.Tx) error { return nil })
}

// explained says of an error that the place causes what is wrong with it, and the way out.
func (s *server) explained(err error) error {
	if err == nil || errors.As(err, new(*storage.UnusableError)) {
		return err
	}
	text := s.wrongFile(err)
	if s.file == "" {
		text = s.wrongServer(err)
	}
	if text == "" {
		return err
	}
	return &storage.UnusableError{Text: text, Err: err}
}

// filling is how long another process may take to fill a file that it has made.
const filling = 3 * time.Second

// hasContent rejects an empty file, which would be taken for a database without states.
func (s *server) hasContent(file *os.File) error {
	for until := time.Now().Add(filling); ; time.Sleep(20 * time.Millisecond) {
		info, err := file.Stat()
		switch {
		case err != nil || info.Size() > 0:
			return err
		case time.Now().After(until):
			return &storage.UnusableError{Text: fmt.Sprintf("%q is empty: something cut it off, or kept weir from making it. Put a backup in its place, or remove it, so that weir makes a new database", s.file)}
		}
	}
}

func (s *server) wrongFile(err error) string {
	cause := err
	if inner := (*sqlite3.Error)(nil); errors.As(err, &inner) {
		cause = inner // the driver says more, which is no help
	}
	switch {
	case errors.Is(err, sqlite3.NOTADB):
		return fmt.Sprintf("%q isn't a SQLite database (%s). Name another file in \"url\", or move this one away, so that weir makes a new database", s.file, cause)
	case errors.Is(err, sqlite3.CORRUPT):
		return fmt.Sprintf("%q is damaged or cut off (%s). Put a backup in its place", s.file, cause)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Sprintf("%q is a directory (%s). Name a file in it in \"url\", such as sqlite:%s/states.db", s.file, cause, s.file)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%q can't be made, because its folder doesn't exist (%s). Make the folder, or name another file in \"url\"", s.file, cause)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, sqlite3.READONLY), errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.PERM):
		return fmt.Sprintf("%q or its folder can't be written (%s). Let this user write both, or name another file in \"url\"", s.file, cause)
	}
	return ""
}

// Codes of PostgreSQL.
const (
	noRights       = "42501"
	noDatabase     = "3D000"
	noLogin        = "28000"
	wrongPassword  = "28P01"
	noSchemaChosen = "3F000"
)

func (s *server) wrongServer(err error) string {
	var problem *pgconn.PgError
	if !errors.As(err, &problem) {
		return ""
	}
	c := s.config
	switch problem.Code {
	case noDatabase:
		return fmt.Sprintf("PostgreSQL at %s has no database %q (%s). Make it with \"createdb %s\", or name another one in \"url\"", s.address, c.Database, problem, c.Database)
	case noLogin, wrongPassword:
		return fmt.Sprintf("PostgreSQL at %s rejects the user %q (%s). Set PGPASSWORD or PGPASSFILE, or name another user in \"url\"", s.address, c.User, problem)
	case noRights, noSchemaChosen:
		user, schema := pgx.Identifier{c.User}.Sanitize(), pgx.Identifier{s.schema}.Sanitize()
		return fmt.Sprintf("The user %q lacks a right in the database %q (%s). Its owner can make the schema with: CREATE SCHEMA %s AUTHORIZATION %s. If the tables exist: GRANT USAGE ON SCHEMA %s TO %s; GRANT ALL ON ALL TABLES IN SCHEMA %s TO %s",
			c.User, c.Database, problem, schema, user, schema, user, schema, user)
	}
	return ""
}

var created = lazyregexp.New(`CREATE TABLE (\w+)`)

// tablesOf are the tables that a version of the schema has, beside that with the version.
func tablesOf(version int) (names []string) {
	for _, text := range migrations[:version] {
		for _, m := range created.Get().FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// version is that of the tables, 0 where the place has no tables. Tables of another program are an error:
// weir's might take the place of some.
func (s *server) version(ctx context.Context, tx *sql.Tx) (version int, err error) {
	there, err := query(ctx, tx, func(r *sql.Rows) (name string, err error) { return name, r.Scan(&name) }, s.dialect.tables)
	if err != nil || len(there) == 0 {
		return 0, err
	}
	own := slices.Contains(there, "schema_version") && slices.Contains(there, "states")
	if own {
		if err := tx.QueryRowContext(ctx, "SELECT version FROM schema_version").Scan(&version); err != nil {
			return 0, err
		}
	}
	unusable := func(format string, args ...any) error {
		return &storage.UnusableError{Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case !own:
		return 0, unusable("Another program has tables in %s, such as %q. Name another %s in %q", s.where(), there[0], s.unit(), s.argument())
	case version > len(migrations):
		return 0, unusable("The tables in %s have version %d, and this version of weir knows those up to %d. Use the version that made them, or a later one", s.where(), version, len(migrations))
	}
	missing := slices.DeleteFunc(tablesOf(version), func(name string) bool { return slices.Contains(there, name) })
	if len(missing) > 0 {
		return 0, unusable("Tables of weir are missing in %s: %s. Put a backup in its place", s.where(), strings.Join(missing, ", "))
	}
	return version, nil
}

// where names the place of the tables in messages.
func (s *server) where() string {
	if s.file != "" {
		return fmt.Sprintf("%q", s.file)
	}
	return fmt.Sprintf("the schema %q of the database %q at %s", s.schema, s.config.Database, s.address)
}

// unit is what one place for tables is, and argument what names it.
func (s *server) unit() string {
	if s.file != "" {
		return "file"
	}
	return "schema"
}

func (s *server) argument() string {
	if s.file != "" {
		return "url"
	}
	return "schema"
}
