package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

// wantUnusable has reading, locking and the check fail alike, with that text.
func wantUnusable(t *testing.T, at place, want ...string) {
	t.Helper()
	_, read := at.open(t).Read(t.Context())
	_, lock := at.open(t).Lock(t.Context(), storage.NewLockInfo("plan", "me", "1"))
	_, _, query := at.backend(t).Query(t.Context(), "SELECT 1")
	for what, err := range map[string]error{"read": read, "lock": lock, "query": query, "check": at.backend(t).Check(t.Context())} {
		if !errors.As(err, new(*storage.UnusableError)) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v\nlacks %q", what, err, part)
			}
		}
	}
}

// TestWrongFile names the file and the way out.
func TestWrongFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) place {
		path := filepath.Join(dir, name)
		if content != nil {
			storagetest.Do(t, os.WriteFile(path, content, 0o600))
		}
		return place{"sqlite:" + path, "weir"}
	}
	wantUnusable(t, file("text", []byte(strings.Repeat("This is no database. ", 500))), filepath.Join(dir, "text"), "isn't a SQLite database", "move this one away")
	if _, err := file("empty", []byte{}).open(t).Read(t.Context()); !errors.As(err, new(*storage.UnusableError)) || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty file: %v", err)
	}
	wantUnusable(t, place{"sqlite:" + dir, "weir"}, dir, "is a directory", "Name a file in it")
	wantUnusable(t, file("none/a.db", nil), "none/a.db", "its folder doesn't exist")

	whole := file("whole.db", nil)
	s := whole.open(t)
	values := make([]string, 2000)
	for i := range values {
		values[i] = strings.Repeat("x", 100)
	}
	storagetest.Do(t, s.Write(t.Context(), sample(t, 1, values...)))
	text, err := os.ReadFile(filepath.Join(dir, "whole.db"))
	storagetest.Do(t, err)
	for _, n := range []int{5000, len(text) / 2} {
		cut := file("cut.db", text[:n])
		if _, err := cut.open(t).Read(t.Context()); !errors.As(err, new(*storage.UnusableError)) || !strings.Contains(err.Error(), "damaged or cut off") {
			t.Errorf("%d of %d bytes: %v", n, len(text), err)
		}
	}
	s = whole.open(t)
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}: "can't be written",
		fmt.Errorf("x: %w", sqlite3.READONLY):                       "can't be written",
		fmt.Errorf("x: %w", sqlite3.CANTOPEN):                       "can't be written",
	} {
		if got := s.b.explained(err); !errors.As(got, new(*storage.UnusableError)) || !strings.Contains(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := s.b.explained(sqlite3.BUSY); errors.As(err, new(*storage.UnusableError)) {
		t.Errorf("a file that is in use for a while: %v", err)
	}
}

// TestForeignTables changes nothing in a database of another program, or of a later version.
func TestForeignTables(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		run := func(b *Backend, statement string) {
			t.Helper()
			storagetest.Do(t, b.write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, statement)
				return err
			}))
		}
		at := fresh(t)
		b := at.backend(t)
		storagetest.Do(t, b.Check(t.Context()))
		run(b, "DROP TABLE outputs_history")
		wantUnusable(t, at, "missing", "outputs_history", "backup")
		run(b, "UPDATE schema_version SET version = 99")
		wantUnusable(t, at, "version 99")

		at = fresh(t)
		other := at.backend(t)
		other.migrated = true // another program makes its tables
		if other.file == "" {
			db, err := other.connect()
			storagetest.Do(t, err)
			defer db.Close()
			_, err = db.ExecContext(t.Context(), "CREATE SCHEMA "+pgx.Identifier{at.schema}.Sanitize())
			storagetest.Do(t, err)
		}
		run(other, "CREATE TABLE invoices (id INTEGER)")
		wantUnusable(t, at, "Another program", `"invoices"`, "Name another")
		_, rows, err := other.query(t.Context(), strings.TrimSuffix(other.dialect.tables, " ORDER BY name"))
		if err != nil || fmt.Sprint(rows) != "[[invoices]]" {
			t.Errorf("tables were made: %v %v", rows, err)
		}
	})
}

// TestWrongServer names the database, the user and the statement that helps.
func TestWrongServer(t *testing.T) {
	if postgres == "" {
		t.Skip(without)
	}
	given, err := pgx.ParseConfig(postgres)
	storagetest.Do(t, err)
	at := func(user, database string) place {
		return place{fmt.Sprintf("postgres:///%s?host=%s&user=%s", database, url.QueryEscape(given.Host), user), fmt.Sprintf("s%d", places.Add(1))}
	}
	wantUnusable(t, at(given.User, "nowhere"), `no database "nowhere"`, "createdb nowhere")
	wantUnusable(t, at("nobody", given.Database), `rejects the user "nobody"`, "PGPASSWORD")
	admin, err := pgx.ConnectConfig(t.Context(), given)
	storagetest.Do(t, err)
	defer admin.Close(t.Context())
	_, err = admin.Exec(t.Context(), "CREATE ROLE guest LOGIN")
	storagetest.Do(t, err)
	guest := at("guest", given.Database)
	wantUnusable(t, guest, `"guest" lacks a right`, "CREATE SCHEMA", "AUTHORIZATION")
	// The statement in the message helps.
	_, err = admin.Exec(t.Context(), fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION guest", guest.schema))
	storagetest.Do(t, err)
	storagetest.Do(t, guest.open(t).Write(t.Context(), sample(t, 1, "a")))
	// A server that isn't there may be there later.
	gone := place{"postgres://u@127.0.0.1:1/d", "weir"}
	if _, err := gone.open(t).Read(t.Context()); err == nil || errors.As(err, new(*storage.UnusableError)) {
		t.Errorf("no server: %v", err)
	}
}
