package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

// A place is a database that nobody else uses.
type place struct{ url, schema string }

func (p place) config() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"url": cty.StringVal(p.url), "schema": cty.StringVal(p.schema)})
}

// backend opens it as another process would.
func (p place) backend(t *testing.T) *Backend {
	t.Helper()
	opened, diags := New(p.config(), storage.Env{})
	storagetest.Do(t, diags.Err())
	b, ok := opened.(*Backend)
	if !ok {
		b = opened.(fileBackend).Backend
	}
	t.Cleanup(func() {
		if b.db != nil {
			b.db.Close()
		}
	})
	return b
}

func (p place) open(t *testing.T) *store {
	t.Helper()
	return storagetest.State(t, p.backend(t), storage.DefaultWorkspace).(*store)
}

var places atomic.Int32

// each runs a test on both databases.
func each(t *testing.T, run func(t *testing.T, fresh func(t *testing.T) place)) {
	t.Run("sqlite", func(t *testing.T) {
		run(t, func(t *testing.T) place { return place{"sqlite:" + filepath.Join(t.TempDir(), "states é.db"), "weir"} })
	})
	t.Run("postgres", func(t *testing.T) {
		if postgres == "" {
			t.Skip(without)
		}
		given, err := pgx.ParseConfig(postgres)
		storagetest.Do(t, err)
		at := fmt.Sprintf("postgres:///%s?host=%s&user=%s", given.Database, url.QueryEscape(given.Host), given.User)
		run(t, func(*testing.T) place { return place{at, fmt.Sprintf(`Odd "schema" %d`, places.Add(1))} })
	})
}

func TestSuite(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		storagetest.Run(t, func(t *testing.T) storagetest.Subject {
			at := fresh(t)
			return storagetest.Subject{New: func(t *testing.T) storage.Backend { return at.backend(t) }}
		})
	})
}

func TestSilent(t *testing.T) {
	if postgres == "" {
		t.Skip(without)
	}
	given, err := pgx.ParseConfig(postgres)
	storagetest.Do(t, err)
	network, socket := pgconn.NetworkAddress(given.Host, given.Port)
	storagetest.Silent(t, network, socket, func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := place{fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", given.User, address, given.Database), fmt.Sprintf("s%d", places.Add(1))}.backend(t)
		return b, func(d time.Duration) { b.patience = d }
	})
}

// A sample is a state with n objects, of which object i has the value values[i].
func sample(t *testing.T, serial uint64, values ...string) []byte {
	t.Helper()
	s := state.Empty()
	s.Lineage, s.Serial, s.Version = "lineage", serial, "1.12.6"
	for i, v := range values {
		at, err := addr.ParseInstance(fmt.Sprintf("aws_instance.web[%d]", i))
		storagetest.Do(t, err)
		provider, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/hashicorp/aws"]`)
		storagetest.Do(t, err)
		s.Objects[addr.Object{Instance: at}] = &state.Object{Provider: provider, JSON: []byte(`{"id":"` + v + `"}`)}
	}
	s.Outputs["out"] = state.Output{Value: cty.StringVal("x")}
	text, err := statefile.Bytes(s)
	storagetest.Do(t, err)
	return text
}

func wantText(t *testing.T, s storage.Store, want []byte) {
	t.Helper()
	got, err := s.Read(t.Context())
	if err != nil || string(got) != string(want) {
		t.Fatalf("%v: read\n%s\nwant\n%s", err, got, want)
	}
}

// versions are the versions of the rows of a table, by address.
func versions(t *testing.T, b *Backend, table string) (all []string) {
	t.Helper()
	storagetest.Do(t, b.read(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
		all, err = query(ctx, tx, func(r *sql.Rows) (string, error) {
			var address string
			var version int64
			err := r.Scan(&address, &version)
			return fmt.Sprintf("%s %d", address, version), err
		}, "SELECT address, version FROM "+table+" ORDER BY address, version")
		return err
	}))
	return all
}

// TestRows has a write touch the rows that it changes and no others.
func TestRows(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		s := at.open(t)
		want := func(table string, want ...string) {
			t.Helper()
			if got := versions(t, s.b, table); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", table, got, want)
			}
		}
		wantText(t, s, nil)
		storagetest.Do(t, s.Write(t.Context(), sample(t, 1, "a", "b", "c")))
		want("objects", "aws_instance.web[0] 1", "aws_instance.web[1] 1", "aws_instance.web[2] 1")
		want("outputs", "out 1")
		storagetest.Do(t, s.Write(t.Context(), sample(t, 2, "a", "B")))
		want("objects", "aws_instance.web[0] 1", "aws_instance.web[1] 2")
		want("objects_history", "aws_instance.web[1] 1", "aws_instance.web[2] 1")
		want("outputs", "out 1")
		// A second save of one run isn't another state.
		storagetest.Do(t, s.Write(t.Context(), sample(t, 2, "a", "BB")))
		want("objects", "aws_instance.web[0] 1", "aws_instance.web[1] 3")
		want("objects_history", "aws_instance.web[1] 1", "aws_instance.web[2] 1")
		wantText(t, at.open(t), sample(t, 2, "a", "BB"))
		// A store that has read nothing replaces everything.
		storagetest.Do(t, at.open(t).Write(t.Context(), sample(t, 3, "z")))
		wantText(t, at.open(t), sample(t, 3, "z"))
		for serial, text := range map[uint64][]byte{1: sample(t, 1, "a", "b", "c"), 2: sample(t, 2, "a", "BB")} {
			if got, err := s.ReadEarlier(t.Context(), serial); err != nil || string(got) != string(text) {
				t.Errorf("serial %d: %v\n%s", serial, err, got)
			}
		}
	})
}

// TestForeign keeps what OpenTofu and Terraform write, byte for byte.
func TestForeign(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		s := fresh(t).open(t)
		text := string(sample(t, 1, "a", "b"))
		for _, foreign := range []string{
			strings.ReplaceAll(text, `"schema_version"`, "\"unknown\": {\n            \"a\": 1.0\n          },\n          \"schema_version\""),
			strings.Join(strings.Fields(text), ""),                       // on one line
			strings.Replace(text, `"index_key": 0`, `"index_key": 1`, 1), // twice the same address
			text,
			"no JSON \x00\xff",
			strings.Replace(text, `"id": "a"`, "\"id\": \"\xff\"", 1),
			text,
		} {
			storagetest.Do(t, s.Write(t.Context(), []byte(foreign)))
			wantText(t, s, []byte(foreign))
		}
		if got := versions(t, s.b, "objects"); len(got) != 2 {
			t.Errorf("%q", got)
		}
		storagetest.Do(t, s.Write(t.Context(), []byte{}))
		if _, err := s.Read(t.Context()); !errors.Is(err, storage.ErrEmptyState) {
			t.Errorf("a state without content: %v", err)
		}
	})
}

func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		s := fresh(t).open(t)
		const n = storage.EarlierStates + 5
		for serial := uint64(1); serial <= n; serial++ {
			storagetest.Do(t, s.Write(t.Context(), sample(t, serial, "same", fmt.Sprint(serial/2))))
			storagetest.Do(t, s.Record(t.Context(), serial, fmt.Append(nil, `"run `, serial, `"`)))
		}
		list, err := s.Earlier(t.Context())
		storagetest.Do(t, err)
		if len(list) != storage.EarlierStates || list[0].Serial != n-1 || time.Since(list[0].Until) > time.Minute {
			t.Fatalf("%v", list)
		}
		for _, e := range list {
			text, err := s.ReadEarlier(t.Context(), e.Serial)
			if err != nil || string(text) != string(sample(t, e.Serial, "same", fmt.Sprint(e.Serial/2))) {
				t.Errorf("serial %d: %v %s", e.Serial, err, text)
			}
		}
		if _, err := s.ReadEarlier(t.Context(), 1); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("a state that was forgotten: %v", err)
		}
		runs, err := s.Records(t.Context())
		if err != nil || len(runs) != storage.EarlierStates+1 || string(runs[0]) != fmt.Sprintf(`"run %d"`, n) {
			t.Errorf("%s %v", runs, err)
		}
		if got := versions(t, s.b, "objects_history"); len(got) > storage.EarlierStates/2+1 {
			t.Errorf("%d rows of history", len(got))
		}
	})
}

// TestLease has a run lose its lock that doesn't renew it, and never write any more.
func TestLease(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		a, b := at.open(t), at.open(t)
		a.b.lease, b.b.lease = time.Second, time.Second
		_, err := a.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
		storagetest.Do(t, err)
		storagetest.Do(t, a.Write(t.Context(), sample(t, 1, "a")))
		time.Sleep(2500 * time.Millisecond)
		if _, err := b.Lock(t.Context(), storage.NewLockInfo("apply", "you", "1")); !errors.As(err, new(*storage.LockError)) {
			t.Fatalf("a lock that is renewed was lost: %v", err)
		}
		a.held.stop() // as a process that is suspended
		var id string
		for range 60 {
			if id, err = b.Lock(t.Context(), storage.NewLockInfo("apply", "you", "1")); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		storagetest.Do(t, err)
		if err := a.Write(t.Context(), sample(t, 2, "b")); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("written after the lock was lost: %v", err)
		}
		if err := a.SetNote(t.Context(), []byte("n")); err == nil {
			t.Error("noted after the lock was lost")
		}
		wantText(t, b, sample(t, 1, "a"))
		storagetest.Do(t, b.Unlock(t.Context(), id))
	})
}

// A cipher is an encryption that anybody can open.
type cipher struct {
	key      string
	fallback bool // clear and other keys may be opened
	off      bool
}

type sealedText struct {
	Key, Text, Check string
}

func (c cipher) Encrypts() bool { return !c.off }

func (c cipher) Seal(text []byte) ([]byte, error) {
	if c.off {
		return text, nil
	}
	return json.Marshal(sealedText{c.key, base64.StdEncoding.EncodeToString(text), fmt.Sprintf("%x", sha256.Sum256(append(text, c.key...)))})
}

func (c cipher) Open(text []byte) ([]byte, bool, error) {
	var s sealedText
	if json.Unmarshal(text, &s) != nil || s.Key == "" {
		if !c.fallback {
			return nil, false, errors.New("it isn't encrypted")
		}
		return text, !c.off, nil
	}
	if s.Key != c.key && !c.fallback {
		return nil, false, errors.New("another key")
	}
	plain, err := base64.StdEncoding.DecodeString(s.Text)
	return plain, s.Key != c.key || c.off, err
}

func (p place) sealed(t *testing.T, c storage.Crypt) *store {
	t.Helper()
	return storagetest.State(t, p.backend(t).Sealed(c), storage.DefaultWorkspace).(*store)
}

func TestEncryption(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		text := sample(t, 1, "secret-a", "secret-b")
		storagetest.Do(t, at.open(t).Write(t.Context(), text))
		if _, err := at.sealed(t, cipher{key: "k"}).Read(t.Context()); err == nil {
			t.Error("a state in clear was taken")
		}
		s := at.sealed(t, cipher{key: "k", fallback: true})
		wantText(t, s, text)
		if !s.Migrating() {
			t.Error("what is in clear needn't be encrypted")
		}
		storagetest.Do(t, s.Write(t.Context(), text))
		s = at.sealed(t, cipher{key: "k"})
		wantText(t, s, text)
		if s.Migrating() {
			t.Error("what is encrypted is to be encrypted again")
		}
		for _, table := range []string{"objects", "outputs"} {
			storagetest.Do(t, s.b.read(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				bodies, err := query(ctx, tx, func(r *sql.Rows) (body string, err error) { return body, r.Scan(&body) }, "SELECT body FROM "+table)
				for _, body := range bodies {
					if strings.Contains(body, "secret") || strings.Contains(body, `"value"`) {
						t.Errorf("in clear: %s", body)
					}
				}
				return err
			}))
		}
		// One object changes, and one row is written.
		storagetest.Do(t, s.Write(t.Context(), sample(t, 2, "secret-a", "secret-c")))
		if got := versions(t, s.b, "objects"); !slices.Equal(got, []string{"aws_instance.web[0] 2", "aws_instance.web[1] 3"}) {
			t.Errorf("%q", got)
		}
		if _, err := at.open(t).Read(t.Context()); err == nil {
			t.Error("read without the key")
		}
		// Rows can't take the place of others.
		storagetest.Do(t, s.b.write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE objects SET body = (SELECT body FROM objects WHERE address = 'aws_instance.web[1]')")
			return err
		}))
		if _, err := at.sealed(t, cipher{key: "k"}).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "another row") {
			t.Errorf("a row in the place of another one: %v", err)
		}
		storagetest.Do(t, at.sealed(t, cipher{key: "k"}).Write(t.Context(), text))
		off := at.sealed(t, cipher{key: "k", fallback: true, off: true})
		wantText(t, off, text)
		if !off.Migrating() {
			t.Error("what is encrypted needn't be decrypted")
		}
		storagetest.Do(t, off.Write(t.Context(), text))
		wantText(t, at.open(t), text)
	})
}

// TestNewerTables rejects tables of a later version.
func TestNewerTables(t *testing.T) {
	each(t, func(t *testing.T, fresh func(t *testing.T) place) {
		at := fresh(t)
		s := at.open(t)
		storagetest.Do(t, s.Write(t.Context(), sample(t, 1)))
		storagetest.Do(t, s.b.write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE schema_version SET version = 99")
			return err
		}))
		if _, err := at.open(t).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "version 99") {
			t.Errorf("%v", err)
		}
	})
}

func TestConfiguration(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"WEIR_DATABASE_URL": "postgres://u:secret@h/d", "WEIR_DATABASE_SCHEMA": "s"}[name]
	}
	b, diags := New(Schema().EmptyValue(), storage.Env{Getenv: getenv})
	storagetest.Do(t, diags.Err())
	if at := b.Place("default"); at != "h:5432/d s default" {
		t.Errorf("%q", at)
	}
	if _, ok := b.(storage.Journaled); ok {
		t.Error("a server has journals")
	}
	b, diags = New(place{"sqlite:a.db", "weir"}.config(), storage.Env{Dir: "/d"})
	storagetest.Do(t, diags.Err())
	if at := b.(storage.Journaled).JournalPath("a/b"); at != "/d/a.db.a%2Fb.journal" {
		t.Errorf("%q", at)
	}
	if _, ok := b.(storage.Parted).Sealed(cipher{}).(storage.Journaled); !ok {
		t.Error("an encrypted file has no journals")
	}
	for _, bad := range []string{"", "sqlite:", "sqlite:a?b", "mysql://h/d", "postgres://u:secret@h:port/d"} {
		_, diags := New(place{bad, "weir"}.config(), storage.Env{})
		if len(diags) != 1 || diags[0].Path == nil || strings.Contains(diags[0].Detail, "secret") {
			t.Errorf("%q: %v", bad, diags)
		}
	}
}

// TestFile has nobody else read the file.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	s := place{"sqlite:" + filepath.Join(dir, "a b%.db"), "weir"}.open(t)
	storagetest.Do(t, s.Write(t.Context(), sample(t, 1, "a")))
	info, err := os.Stat(filepath.Join(dir, "a b%.db"))
	storagetest.Do(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v", info.Mode())
	}
	if _, err := (place{"sqlite:" + filepath.Join(dir, "none", "a.db"), "weir"}).open(t).Read(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
}
