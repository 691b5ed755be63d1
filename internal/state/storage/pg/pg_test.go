//go:build linux

package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
)

func settings(values map[string]cty.Value) cty.Value {
	attributes := Schema().EmptyValue().AsValueMap()
	for name, v := range values {
		attributes[name] = v
	}
	return cty.ObjectVal(attributes)
}

// backend opens one as another process would.
func backend(t *testing.T, values map[string]cty.Value) *Backend {
	t.Helper()
	if server == "" {
		t.Skip(without)
	}
	values["conn_str"] = cty.StringVal(server)
	b, diags := New(settings(values), storage.Env{})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.conn != nil {
			b.conn.Close(context.Background())
		}
	})
	return b
}

var places atomic.Int32

// place is a schema that nobody else uses.
func place() map[string]cty.Value {
	return map[string]cty.Value{"schema_name": cty.StringVal(fmt.Sprintf(`Odd "schema" %d`, places.Add(1)))}
}

// TestSilent has a server that stops answering, in each request.
func TestSilent(t *testing.T) {
	if server == "" {
		t.Skip(without)
	}
	given, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	network, socket := pgconn.NetworkAddress(given.Host, given.Port)
	storagetest.Silent(t, network, socket, func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		at := place()
		host, port, _ := net.SplitHostPort(address)
		at["conn_str"] = cty.StringVal(fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable", host, port, given.User, given.Database))
		b, diags := New(settings(at), storage.Env{})
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		return b, func(d time.Duration) { b.patience = d }
	})
}

func TestSuite(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		at := place()
		return storagetest.Subject{New: func(t *testing.T) storage.Backend { return backend(t, at) }}
	})
}

func open(t *testing.T, at map[string]cty.Value) *store {
	t.Helper()
	s, err := backend(t, at).State(storage.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*store)
}

// TestLockIsAFence takes the lock away from a run, which then can't write.
func TestLockIsAFence(t *testing.T) {
	at := place()
	a, b := open(t, at), open(t, at)
	storagetest.Do(t, a.Write(t.Context(), []byte("1")))
	id, err := a.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, b.Unlock(t.Context(), id))
	id, err = b.Lock(t.Context(), storage.NewLockInfo("apply", "you", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, b.Write(t.Context(), []byte("2")))
	if err := a.Write(t.Context(), []byte("3")); err == nil {
		t.Error("who lost the lock can still write")
	}
	content, err := b.Read(t.Context())
	storagetest.Do(t, err)
	if string(content) != "2" {
		t.Errorf("read %q", content)
	}
	storagetest.Do(t, b.Unlock(t.Context(), id))
}

// TestKilled ends the session of a run that holds the lock, as its death does.
func TestKilled(t *testing.T) {
	at := place()
	a, b := open(t, at), open(t, at)
	storagetest.Do(t, a.Write(t.Context(), []byte("1")))
	_, err := a.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	_, err = b.Lock(t.Context(), storage.NewLockInfo("apply", "you", "1"))
	if !errors.As(err, new(*storage.LockError)) {
		t.Fatal(err)
	}
	storagetest.Do(t, a.held.conn.Close(t.Context()))
	id, _, err := storage.Acquire(t.Context(), b, storage.NewLockInfo("apply", "you", "1"), storage.Taking{Timeout: 10e9})
	storagetest.Do(t, err)
	storagetest.Do(t, b.Unlock(t.Context(), id))
}

// TestLeftBesidePeer: what a killed run has left isn't said of another program that has the
// lock now, which nobody takes it from.
func TestLeftBesidePeer(t *testing.T) {
	at := place()
	a, b := open(t, at), open(t, at)
	storagetest.Do(t, a.Write(t.Context(), []byte("1")))
	left, err := a.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, a.held.conn.Close(t.Context()))
	peer, err := pgx.Connect(t.Context(), server)
	storagetest.Do(t, err)
	defer peer.Close(context.Background())
	var locked bool
	for !locked { // the server may not know yet that the first session has ended
		storagetest.Do(t, peer.QueryRow(t.Context(), "SELECT pg_try_advisory_lock(id) FROM "+a.b.states()).Scan(&locked))
	}
	_, err = b.Lock(t.Context(), storage.NewLockInfo("apply", "you", "1"))
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder != nil {
		t.Errorf("locked by a peer: %v", err)
	}
	storagetest.Do(t, b.Unlock(t.Context(), left))
	if err := peer.Ping(t.Context()); err != nil {
		t.Errorf("the lock of a peer was taken away: %v", err)
	}
	if _, err = b.Lock(t.Context(), storage.NewLockInfo("apply", "you", "1")); !errors.As(err, &held) {
		t.Errorf("locked beside a peer: %v", err)
	}
}

// TestPeers checks the layout and the locks that other programs rely on.
func TestPeers(t *testing.T) {
	a := open(t, map[string]cty.Value{})
	storagetest.Do(t, a.b.CreateWorkspace(t.Context(), "empty"))
	storagetest.Do(t, a.Write(t.Context(), []byte(`{"version":4}`)))
	peer, err := pgx.Connect(t.Context(), server)
	storagetest.Do(t, err)
	defer peer.Close(context.Background())
	var data string
	storagetest.Do(t, peer.QueryRow(t.Context(), "SELECT data FROM terraform_remote_state.states WHERE name = 'default'").Scan(&data))
	if data != `{"version":4}` {
		t.Errorf("data %q", data)
	}
	storagetest.Do(t, peer.QueryRow(t.Context(), "SELECT data FROM terraform_remote_state.states WHERE name = 'empty'").Scan(&data))
	if !strings.Contains(data, `"serial":0`) {
		t.Errorf("an empty workspace has %q", data)
	}
	var locked bool
	storagetest.Do(t, peer.QueryRow(t.Context(), "SELECT pg_try_advisory_lock(id) FROM terraform_remote_state.states WHERE name = 'default'").Scan(&locked))
	if !locked {
		t.Error("locked without need")
	}
	if _, err := a.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1")); !errors.As(err, new(*storage.LockError)) {
		t.Errorf("locked beside a peer: %v", err)
	}
	_, err = peer.Exec(t.Context(), "SELECT pg_advisory_unlock_all()")
	storagetest.Do(t, err)
	id, err := a.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, peer.QueryRow(t.Context(), "SELECT pg_try_advisory_lock(id) FROM terraform_remote_state.states WHERE name = 'default'").Scan(&locked))
	if locked {
		t.Error("a peer could lock, too")
	}
	storagetest.Do(t, a.Unlock(t.Context(), id))
}

// TestSkip leaves out what is there already, or may not be made.
func TestSkip(t *testing.T) {
	at := place()
	at["skip_schema_creation"], at["skip_table_creation"], at["skip_index_creation"] = cty.True, cty.True, cty.True
	if _, err := open(t, at).Read(t.Context()); err == nil {
		t.Error("the table was made although that was to be skipped")
	}
	made := map[string]cty.Value{"schema_name": at["schema_name"], "table_name": cty.StringVal("t"), "index_name": cty.StringVal("i")}
	storagetest.Do(t, open(t, made).Write(t.Context(), []byte("x")))
	at["table_name"] = cty.StringVal("t")
	s := open(t, at)
	content, err := s.Read(t.Context())
	if err != nil || string(content) != "x" {
		t.Errorf("%q %v", content, err)
	}
	id, err := s.Lock(t.Context(), storage.NewLockInfo("x", "y", "z"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Unlock(t.Context(), id))
}

func TestConfiguration(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"PG_CONN_STR": "postgres://u:secret@h/d", "PG_SCHEMA_NAME": "s", "PG_SKIP_TABLE_CREATION": "true"}[name]
	}
	b, diags := New(settings(nil), storage.Env{Getenv: getenv})
	storagetest.Do(t, diags.Err())
	if b.config.Host != "h" || b.schema != "s" || b.table != "states" || !b.noTable || b.noIndex {
		t.Errorf("%+v", b)
	}
	for name, v := range map[string]cty.Value{"conn_str": cty.StringVal("postgres://u:secret@h:port/d")} {
		_, diags := New(settings(map[string]cty.Value{name: v}), storage.Env{})
		if len(diags) != 1 || diags[0].Path == nil || strings.Contains(diags[0].Detail, "secret") {
			t.Errorf("%s: %v", name, diags)
		}
	}
	bad := func(name string) string {
		if name == "PG_SKIP_TABLE_CREATION" {
			return "perhaps"
		}
		return ""
	}
	if _, diags := New(settings(nil), storage.Env{Getenv: bad}); len(diags) != 1 {
		t.Errorf("%v", diags)
	}
}
