package stateserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/database"
	backend "weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/state/storage/inmem"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/state/storage/storagetest"
)

const secret = "the password of the tests"

func valid(name string) bool { return name != "" && !strings.Contains(name, "/") }

func newServer(b storage.Backend) *Server {
	return &Server{Backend: b, Open: b.State, Valid: valid, Password: secret}
}

func serve(t *testing.T, s *Server) string {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return web.URL
}

// rows is a database in a file, opened as another process would.
func rows(t *testing.T, path string) storage.Backend {
	t.Helper()
	config := database.Schema().EmptyValue().AsValueMap()
	config["url"] = cty.StringVal("sqlite:" + path)
	b, diags := database.New(cty.ObjectVal(config), storage.Env{})
	storagetest.Do(t, diags.Err())
	return b
}

// client is weir's http backend at an address.
func client(t *testing.T, address string) storage.Backend {
	t.Helper()
	config := backend.Schema().EmptyValue().AsValueMap()
	for _, name := range []string{"address", "lock_address", "unlock_address"} {
		config[name] = cty.StringVal(address)
	}
	config["username"], config["password"] = cty.StringVal("ci"), cty.StringVal(secret)
	config["retry_max"] = cty.Zero
	b, diags := backend.New(cty.ObjectVal(config), storage.Env{})
	storagetest.Do(t, diags.Err())
	return b
}

// TestSuite holds the server and the http backend together to the contract of all backends.
func TestSuite(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) storage.Backend{
		"memory": func(*testing.T) storage.Backend { return inmem.New() },
		"local": func(t *testing.T) storage.Backend {
			b, diags := local.New(local.Schema().EmptyValue(), storage.Env{Dir: t.TempDir()})
			storagetest.Do(t, diags.Err())
			return b
		},
		"database": func(t *testing.T) storage.Backend { return rows(t, filepath.Join(t.TempDir(), "states.db")) },
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				address := serve(t, newServer(open(t))) + "/default"
				return storagetest.Subject{OneWorkspace: true, New: func(t *testing.T) storage.Backend { return client(t, address) }}
			})
		})
	}
}

// A message has what a client may send, and what it gets.
type message struct {
	method, path, body string
	header             map[string]string
}

func (q message) send(t *testing.T, address string) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), q.method, address+q.path, strings.NewReader(q.body))
	storagetest.Do(t, err)
	r.SetBasicAuth("ci", secret)
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	storagetest.Do(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	storagetest.Do(t, err)
	return response.StatusCode, string(text), response.Header
}

func want(t *testing.T, address string, status int, said string, q message) http.Header {
	t.Helper()
	got, body, header := q.send(t, address)
	if got != status || !strings.Contains(body, said) {
		t.Errorf("%s %s: %d %s, want %d and %q", q.method, q.path, got, body, status, said)
	}
	return header
}

func lockInfo(id string) string { return string(storage.LockInfo{ID: id, Who: "me@here"}.JSON()) }

// TestProtocol has what OpenTofu and Terraform send, and what may go wrong.
func TestProtocol(t *testing.T) {
	b := rows(t, filepath.Join(t.TempDir(), "states.db"))
	s := newServer(b)
	var log []string
	s.Log = func(line string) { log = append(log, line) }
	at := serve(t, s)
	want(t, at, 401, "password", message{method: "GET", path: "/default", header: map[string]string{"Authorization": ""}})
	want(t, at, 403, "wrong", message{method: "GET", path: "/default", header: map[string]string{"Authorization": "Bearer other"}})
	want(t, at, 404, "no state", message{method: "GET", path: "/default", header: map[string]string{"Authorization": "Bearer " + secret}})
	want(t, at, 404, "/WORKSPACE", message{method: "GET", path: "/a/b"})
	want(t, at, 405, "methods", message{method: "PATCH", path: "/default"})

	want(t, at, 400, "no state", message{method: "POST", path: "/dev"})
	want(t, at, 400, "checksum", message{method: "POST", path: "/dev", body: "{}", header: map[string]string{"Content-MD5": "x"}})
	want(t, at, 412, "isn't the one", message{method: "POST", path: "/dev", body: "{}", header: map[string]string{"If-Match": `"x"`}})
	first := want(t, at, 200, "", message{method: "POST", path: "/dev", body: `{"resources":[{}]}`, header: map[string]string{"If-None-Match": "*"}}).Get("ETag")
	want(t, at, 412, "", message{method: "POST", path: "/dev", body: "{}", header: map[string]string{"If-None-Match": "*"}})
	want(t, at, 200, "/default\n/dev\n", message{method: "GET", path: "/"})
	if tag := want(t, at, 200, `{"resources":[{}]}`, message{method: "GET", path: "/dev"}).Get("ETag"); tag != first || tag == "" {
		t.Errorf("tags %q and %q", first, tag)
	}
	want(t, at, 304, "", message{method: "GET", path: "/dev", header: map[string]string{"If-None-Match": first}})
	want(t, at, 409, "has objects", message{method: "DELETE", path: "/dev"})

	want(t, at, 400, "ID", message{method: "LOCK", path: "/dev", body: "{}"})
	want(t, at, 400, "ID", message{method: "UNLOCK", path: "/dev"})
	for range 2 { // the answer may be lost
		want(t, at, 200, "", message{method: "LOCK", path: "/dev", body: lockInfo("one")})
	}
	want(t, at, 423, `"ID":"one"`, message{method: "LOCK", path: "/dev", body: lockInfo("two")})
	want(t, at, 409, "already locked", message{method: "POST", path: "/dev", body: "{}"})
	want(t, at, 409, "isn't held", message{method: "POST", path: "/dev?ID=two", body: "{}"})
	want(t, at, 412, "", message{method: "POST", path: "/dev?ID=one", body: "{}", header: map[string]string{"If-Match": `"x", "y"`}})
	want(t, at, 200, "", message{method: "POST", path: "/dev?ID=one", body: `{"resources":[]}`, header: map[string]string{"If-Match": first}})
	want(t, at, 409, "does not match", message{method: "UNLOCK", path: "/dev", body: lockInfo("two")})
	if held := s.Held(t.Context()); len(held) != 1 || held["dev"].ID != "one" {
		t.Errorf("held %v", held)
	}
	for range 2 {
		want(t, at, 200, "", message{method: "UNLOCK", path: "/dev", body: lockInfo("one")})
	}
	want(t, at, 409, "not locked", message{method: "UNLOCK", path: "/dev", body: lockInfo("three")})
	want(t, at, 409, "isn't held", message{method: "POST", path: "/dev?ID=one", body: "{}"})

	want(t, at, 409, "default", message{method: "DELETE", path: "/default"})
	want(t, at, 412, "", message{method: "DELETE", path: "/dev", header: map[string]string{"If-Match": first}})
	want(t, at, 200, "", message{method: "LOCK", path: "/dev", body: lockInfo("four")})
	want(t, at, 409, "already locked", message{method: "DELETE", path: "/dev"})
	want(t, at, 200, "", message{method: "DELETE", path: "/dev?ID=four"})
	want(t, at, 200, "/default\n", message{method: "GET", path: "/"})
	if held := s.Held(t.Context()); len(held) != 0 {
		t.Errorf("held %v", held)
	}
	if all := strings.Join(log, "\n"); !strings.Contains(all, `dev: me@here took the lock one`) || !strings.Contains(all, "dev: it was deleted by me@here") {
		t.Errorf("logged:\n%s", all)
	}
	s.Password = ""
	want(t, at, 403, "wrong", message{method: "GET", path: "/", header: map[string]string{"Authorization": "Basic Y2k6"}})
}

// TestBothWays has a run on the rows and a client of the server exclude each other.
func TestBothWays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states.db")
	at := serve(t, newServer(rows(t, path)))
	own := storagetest.State(t, rows(t, path), "default")
	id, err := own.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	want(t, at, 423, id, message{method: "LOCK", path: "/default", body: lockInfo("one")})
	want(t, at, 409, "already locked", message{method: "POST", path: "/default", body: "{}"})
	storagetest.Do(t, own.Write(t.Context(), []byte("1")))
	storagetest.Do(t, own.Unlock(t.Context(), id))

	want(t, at, 200, "", message{method: "LOCK", path: "/default", body: lockInfo("one")})
	var held *storage.LockError
	if _, err := own.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1")); !errors.As(err, &held) || held.Holder.ID != "one" {
		t.Errorf("%v", err)
	}
	// Anyone who writes without the lock isn't overwritten.
	storagetest.Do(t, own.Write(t.Context(), []byte("2")))
	want(t, at, 412, "changed by somebody else", message{method: "POST", path: "/default?ID=one", body: "3"})
	want(t, at, 200, "2", message{method: "GET", path: "/default"})
	// After force-unlock the client has no lock any more, and others take it through the server.
	storagetest.Do(t, own.Unlock(t.Context(), "one"))
	want(t, at, 409, "isn't held", message{method: "POST", path: "/default?ID=one", body: "3"})
	want(t, at, 200, "", message{method: "LOCK", path: "/default", body: lockInfo("two")})
	want(t, at, 409, "", message{method: "UNLOCK", path: "/default", body: lockInfo("one")})
	want(t, at, 200, "", message{method: "POST", path: "/default?ID=two", body: "4"})
	want(t, at, 200, "", message{method: "UNLOCK", path: "/default?ID=two"})
}

// TestRows has a state that OpenTofu or Terraform sends be rows.
func TestRows(t *testing.T) {
	b := rows(t, filepath.Join(t.TempDir(), "states.db"))
	at := serve(t, newServer(b))
	state := func(serial int) string {
		return fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":"l","outputs":{"o":{"value":"<a>","type":"string"}},"resources":[{"mode":"managed","type":"terraform_data","name":"a","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"i%d","input":null},"sensitive_attributes":[]}]}],"check_results":null}`, serial, serial)
	}
	tag := want(t, at, 200, "", message{method: "POST", path: "/default", body: state(1)}).Get("ETag")
	want(t, at, 200, "", message{method: "POST", path: "/default", body: state(2) + "\n", header: map[string]string{"If-Match": tag}})
	want(t, at, 200, `"terraform_version": "1.12.6"`, message{method: "GET", path: "/default"})
	for query, rows := range map[string]string{
		"SELECT address, attributes ->> 'id' FROM resources":    "[[terraform_data.a i2]]",
		"SELECT address, version, until FROM earlier_resources": "[[terraform_data.a 1 2]]",
		"SELECT name, value FROM output_values":                 `[[o "<a>"]]`,
	} {
		if _, got, err := b.(storage.Queryable).Query(t.Context(), query); err != nil || fmt.Sprint(got) != rows {
			t.Errorf("%s: %v %v, want %s", query, err, got, rows)
		}
	}
	// A client's own encryption stays as it is.
	const sealed = `{"serial":3,"lineage":"l","meta":{},"encrypted_data":"x","encryption_version":"v0"}`
	want(t, at, 200, "", message{method: "POST", path: "/sealed", body: sealed})
	if _, body, _ := (message{method: "GET", path: "/sealed"}).send(t, at); body != sealed {
		t.Errorf("%s", body)
	}
}

// TestManyBothWays has runs on the rows and clients of the server each add one under the lock.
func TestManyBothWays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states.db")
	address := serve(t, newServer(rows(t, path))) + "/default"
	const runs, times = 3, 4
	var wg sync.WaitGroup
	for range runs {
		for _, b := range []storage.Backend{rows(t, path), client(t, address)} {
			s := storagetest.State(t, b, "default")
			wg.Go(func() {
				for range times {
					if err := addOne(t.Context(), s); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	want(t, strings.TrimSuffix(address, "/default"), 200, fmt.Sprint(2*runs*times), message{method: "GET", path: "/default"})
}

func addOne(ctx context.Context, s storage.Store) error {
	id, _, err := storage.Acquire(ctx, s, storage.NewLockInfo("add", "me", "1"), storage.Taking{Timeout: time.Minute})
	if err != nil {
		return err
	}
	content, err := s.Read(ctx)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(string(content)) // none at first
	return errors.Join(s.Write(ctx, []byte(strconv.Itoa(n+1))), s.Unlock(ctx, id))
}

// TestRestart has a lock outlive the server, and nobody take it over meanwhile.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states.db")
	info := storage.NewLockInfo("apply", "me", "1")
	info.Info = strings.Replace(info.Info, "process ", "process 107374182", 1) // it has ended
	want(t, serve(t, newServer(rows(t, path))), 200, "", message{method: "LOCK", path: "/default", body: string(info.JSON())})

	own := storagetest.State(t, rows(t, path), "default")
	if _, left, err := storage.Acquire(t.Context(), own, storage.NewLockInfo("apply", "me", "1"), storage.Taking{}); left != nil || !errors.As(err, new(*storage.LockError)) {
		t.Errorf("the lock of a client was taken over: %v %v", left, err)
	}
	at := serve(t, newServer(rows(t, path)))
	status, body, _ := message{method: "LOCK", path: "/default", body: lockInfo("two")}.send(t, at)
	var holder storage.LockInfo
	storagetest.Do(t, json.Unmarshal([]byte(body), &holder))
	if status != 423 || holder.Info != info.Info {
		t.Errorf("%d, the client says %q, and gets %q", status, info.Info, holder.Info)
	}
	want(t, at, 200, "", message{method: "POST", path: "/default?ID=" + info.ID, body: "1"})
	want(t, at, 200, "", message{method: "UNLOCK", path: "/default", body: string(info.JSON())})
	if _, err := own.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1")); err != nil {
		t.Error(err)
	}
}

// lockless is a backend that is configured without locks.
type lockless struct{ storage.Backend }

type locklessStore struct{ storage.Store }

func (locklessStore) Lock(context.Context, storage.LockInfo) (string, error) { return "", nil }
func (locklessStore) Unlock(_ context.Context, id string) error              { return storage.WithoutLock(id) }

func (b lockless) State(name string) (storage.Store, error) {
	s, err := b.Backend.State(name)
	return locklessStore{s}, err
}

func (lockless) Workspaces(context.Context) ([]string, error) {
	return nil, storage.ErrWorkspacesNotSupported
}

// TestWithoutLocks has clients of the server exclude each other at least.
func TestWithoutLocks(t *testing.T) {
	at := serve(t, newServer(lockless{inmem.New()}))
	want(t, at, 200, "/default\n", message{method: "GET", path: "/"})
	want(t, at, 200, "", message{method: "LOCK", path: "/default", body: lockInfo("one")})
	want(t, at, 423, `"one"`, message{method: "LOCK", path: "/default", body: lockInfo("two")})
	want(t, at, 409, "one", message{method: "POST", path: "/default", body: "1"})
	want(t, at, 200, "", message{method: "POST", path: "/default?ID=one", body: "1"})
	want(t, at, 200, "", message{method: "UNLOCK", path: "/default", body: lockInfo("one")})
	want(t, at, 409, "", message{method: "UNLOCK", path: "/default", body: lockInfo("three")})
	want(t, at, 200, "", message{method: "POST", path: "/default", body: "2"})
}

// failing is a backend that is out of order.
type failing struct{ storage.Backend }

func (failing) State(string) (storage.Store, error)          { return nil, errors.New("out of order") }
func (failing) Workspaces(context.Context) ([]string, error) { return nil, errors.New("out of order") }

func TestFailing(t *testing.T) {
	at := serve(t, newServer(failing{inmem.New()}))
	for _, q := range []message{
		{method: "GET", path: "/"}, {method: "GET", path: "/default"}, {method: "POST", path: "/default", body: "1"},
		{method: "DELETE", path: "/dev"}, {method: "LOCK", path: "/default", body: lockInfo("one")}, {method: "UNLOCK", path: "/default", body: lockInfo("one")},
	} {
		want(t, at, 500, "out of order", q)
	}
	want(t, at, 409, "isn't held", message{method: "POST", path: "/default?ID=one", body: "1"})
}

// TestEnd finishes what is under way, and then answers nobody.
func TestEnd(t *testing.T) {
	b := inmem.New()
	s := newServer(b)
	entered, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Open = func(name string) (storage.Store, error) {
		once.Do(func() { close(entered); <-proceed })
		return b.State(name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	storagetest.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, nil) }()
	address := "http://" + l.Addr().String()
	answered := make(chan int, 1)
	go func() {
		status, _, _ := message{method: "POST", path: "/default", body: "1"}.send(t, address)
		answered <- status
	}()
	<-entered
	cancel()
	select {
	case err := <-ended:
		t.Fatalf("ended with a request under way: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(proceed)
	if status := <-answered; status != 200 {
		t.Errorf("answered %d", status)
	}
	storagetest.Do(t, <-ended)
	if _, err := http.Get(address); err == nil { //nolint:noctx // it fails
		t.Error("answered after the end")
	}
}

// TestSecure serves HTTPS with a certificate, and says when it can't go on.
func TestSecure(t *testing.T) {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	defer web.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	storagetest.Do(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- newServer(inmem.New()).Serve(t.Context(), l, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
	}()
	r, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("https://%s/", l.Addr()), nil)
	storagetest.Do(t, err)
	r.Header.Set("Authorization", "Bearer "+secret)
	response, err := web.Client().Do(r)
	storagetest.Do(t, err)
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("%s", response.Status)
	}
	l.Close()
	if err := <-ended; err == nil {
		t.Error("without a listener")
	}
}
