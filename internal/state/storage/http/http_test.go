package http

import (
	"bufio"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

// config is a configuration with the given attributes and nulls.
func config(set map[string]cty.Value) cty.Value {
	all := Schema().EmptyValue().AsValueMap()
	maps.Copy(all, set)
	return cty.ObjectVal(all)
}

func texts(pairs ...string) map[string]cty.Value {
	m := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = cty.StringVal(pairs[i+1])
	}
	return m
}

func backend(t *testing.T, set map[string]cty.Value, env map[string]string) *Backend {
	t.Helper()
	b, diags := New(config(set), storage.Env{Getenv: func(name string) string { return env[name] }})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t *testing.T, b *Backend) storage.Store {
	t.Helper()
	s, err := b.State("default")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) {
	for name, s := range map[string]func() *testservers.HTTP{
		"plain": func() *testservers.HTTP { return &testservers.HTTP{} },
		"lax":   func() *testservers.HTTP { return &testservers.HTTP{Lax: true} },
		"tags":  func() *testservers.HTTP { return &testservers.HTTP{Tags: true} },
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				web := httptest.NewServer(s())
				t.Cleanup(web.Close)
				return subject(web.URL, name == "lax")
			})
		})
	}
}

func subject(url string, lax bool) storagetest.Subject {
	return storagetest.Subject{
		OneWorkspace: true,
		AnyID:        lax,
		New: func(t *testing.T) storage.Backend {
			return backend(t, texts("address", url, "lock_address", url, "unlock_address", url), nil)
		},
	}
}

// serveEnv has the test binary be the server.
const serveEnv = "WEIR_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) == "" {
		os.Exit(m.Run())
	}
	web := httptest.NewServer(&testservers.HTTP{Tags: true})
	fmt.Println(web.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the tests have ended
}

// TestSuiteOtherProcess runs the suite on a server in a process of its own.
func TestSuiteOtherProcess(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serveEnv+"=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		url, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return subject(strings.TrimSpace(url), false)
	})
}

// TestConditions holds uploads to what was read.
func TestConditions(t *testing.T) {
	for _, tags := range []bool{false, true} {
		s := &testservers.HTTP{Tags: tags}
		web := httptest.NewServer(s)
		set := texts("address", web.URL)
		set["retry_wait_min"] = cty.Zero
		one := open(t, backend(t, set, nil))
		step := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("tags %v, %s: %v", tags, what, err)
			}
		}
		read := func() {
			t.Helper()
			if _, err := one.Read(t.Context()); err != nil {
				t.Error(err)
			}
		}
		s.Put("0")
		read()
		s.Put("other")
		step("first write over another's", one.Write(t.Context(), []byte("1")), storage.ErrChanged)
		read()
		step("write", one.Write(t.Context(), []byte("1")), nil)
		s.Lose()
		step("an answer that was lost", one.Write(t.Context(), []byte("2")), nil)
		step("write after that", one.Write(t.Context(), []byte("3")), nil)
		if got := string(s.State()); got != "3" {
			t.Errorf("tags %v: %s", tags, got)
		}
		s.Put("other")
		step("later write over another's", one.Write(t.Context(), []byte("4")), storage.ErrChanged)
		step("and again", one.Write(t.Context(), []byte("4")), storage.ErrChanged)
		if got := string(s.State()); got != "other" {
			t.Errorf("tags %v: another's state was replaced by %s", tags, got)
		}
		// Somebody else has the lock.
		s.Hold(storage.LockInfo{ID: "theirs"})
		read()
		if err := one.Write(t.Context(), []byte("5")); err == nil || errors.Is(err, storage.ErrChanged) {
			t.Errorf("write under another's lock: %v", err)
		}
		web.Close()
	}
}

// TestFirstUpload holds the first upload to there being no state, also when the answer to
// it is lost, and where the server takes a state without content for one.
func TestFirstUpload(t *testing.T) {
	s := &testservers.HTTP{Tags: true}
	var between func() // when the state was inspected and is about to be written
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" && between != nil {
			between()
			between = nil
		}
		s.ServeHTTP(w, r)
	}))
	defer web.Close()
	set := texts("address", web.URL)
	set["retry_wait_min"] = cty.Zero
	write := func() error {
		t.Helper()
		one := open(t, backend(t, set, nil))
		if _, err := one.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		return one.Write(t.Context(), []byte("mine"))
	}
	between = func() { s.Put("theirs") }
	if err := write(); !errors.Is(err, storage.ErrChanged) || string(s.State()) != "theirs" {
		t.Errorf("%v, %s", err, s.State())
	}
	s.Put("")
	if err := write(); err != nil || string(s.State()) != "mine" {
		t.Errorf("without content: %v, %s", err, s.State())
	}
	*s = testservers.HTTP{Tags: true}
	between = s.Lose
	if err := write(); err != nil || string(s.State()) != "mine" {
		t.Errorf("an answer that was lost: %v, %s", err, s.State())
	}
}

// TestSentOn: a server that sends on to another host gets nothing sent there, neither
// states nor credentials.
func TestSentOn(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" && r.URL.Path == "/new" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer web.Close()
	for path, ask := range map[string]func(s storage.Store) error{
		"/new": func(s storage.Store) error {
			if _, err := s.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s.Write(t.Context(), []byte("secret"))
		},
		"/read": func(s storage.Store) error { _, err := s.Read(t.Context()); return err },
		"/lock": func(s storage.Store) error { _, err := s.Lock(t.Context(), storage.LockInfo{ID: "x"}); return err },
	} {
		set := texts("address", web.URL+path, "lock_address", web.URL+path, "username", "me", "password", "pw")
		set["retry_max"] = cty.Zero
		if err := ask(open(t, backend(t, set, nil))); err == nil || !strings.Contains(err.Error(), "sends on to another") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if asked > 0 {
		t.Error("the other host was asked")
	}
}

// TestTagOfAnswer has a server that sends a tag with its answers to uploads that
// isn't that of the state.
func TestTagOfAnswer(t *testing.T) {
	s := &testservers.HTTP{Tags: true}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" {
			s.ServeHTTP(w, r)
			return
		}
		kept := httptest.NewRecorder()
		s.ServeHTTP(kept, r)
		w.Header().Set("ETag", `"of the answer"`)
		w.WriteHeader(kept.Code)
	}))
	defer web.Close()
	one := open(t, backend(t, texts("address", web.URL), nil))
	if _, err := one.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"1", "2", "3"} {
		if err := one.Write(t.Context(), []byte(content)); err != nil || string(s.State()) != content {
			t.Errorf("%v, %s", err, s.State())
		}
	}
	s.Put("other")
	if err := one.Write(t.Context(), []byte("4")); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("another's state was replaced: %v", err)
	}
}

func TestSuiteWithoutLock(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		web := httptest.NewServer(&testservers.HTTP{})
		t.Cleanup(web.Close)
		return storagetest.Subject{
			OneWorkspace: true,
			NoLock:       true,
			New:          func(t *testing.T) storage.Backend { return backend(t, texts("address", web.URL), nil) },
		}
	})
}

func TestRequests(t *testing.T) {
	s := &testservers.HTTP{}
	web := httptest.NewServer(s)
	defer web.Close()
	set := texts("address", web.URL+"/s?a=b", "update_method", "PUT")
	set["headers"] = cty.MapVal(map[string]cty.Value{"X-Team": cty.StringVal("blue")})
	store := open(t, backend(t, set, map[string]string{
		"TF_HTTP_ADDRESS":        "http://not.used",
		"TF_HTTP_LOCK_ADDRESS":   web.URL + "/l",
		"TF_HTTP_UNLOCK_ADDRESS": web.URL + "/u",
	}))
	id, err := store.Lock(t.Context(), storage.LockInfo{ID: "the id"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Unlock(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), []byte("y")); err != nil {
		t.Fatal(err)
	}
	want := []string{"LOCK /l blue", "PUT /s?ID=the+id&a=b blue", "GET /s?a=b blue", "UNLOCK /u blue", "GET /s?a=b blue", "PUT /s?a=b blue"}
	if !slices.Equal(s.Log(), want) {
		t.Errorf("got  %q\nwant %q", s.Log(), want)
	}
}

func TestForceUnlock(t *testing.T) {
	s := &testservers.HTTP{}
	s.Hold(storage.LockInfo{ID: "left"})
	web := httptest.NewServer(s)
	defer web.Close()
	store := open(t, backend(t, texts("address", web.URL, "lock_address", web.URL, "unlock_address", web.URL), nil))
	if err := store.Unlock(t.Context(), "left"); err != nil || s.Locked() {
		t.Errorf("%v, %v", err, s.Locked())
	}
}

// TestLockAnswerLost: the lock that an earlier try took is one's own.
func TestLockAnswerLost(t *testing.T) {
	s := &testservers.HTTP{}
	s.Lose()
	web := httptest.NewServer(s)
	defer web.Close()
	set := texts("address", web.URL, "lock_address", web.URL, "unlock_address", web.URL)
	set["retry_wait_min"] = cty.Zero
	store := open(t, backend(t, set, nil))
	info := storage.NewLockInfo("apply", "me", "1")
	id, err := store.Lock(t.Context(), info)
	if err != nil || id != info.ID {
		t.Fatalf("%q, %v", id, err)
	}
	if _, err := store.Lock(t.Context(), info); err == nil {
		t.Error("locked twice")
	}
	if err := store.Unlock(t.Context(), id); err != nil || s.Locked() {
		t.Errorf("%v, locked: %v", err, s.Locked())
	}
}

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		fail, retry, requests int
		ok                    bool
	}{
		{0, 2, 1, true}, {2, 2, 3, true}, {3, 2, 3, false}, {1, 0, 1, false},
	} {
		s := &testservers.HTTP{}
		s.Put("x")
		s.Fail(tt.fail)
		web := httptest.NewServer(s)
		set := texts("address", web.URL)
		set["retry_max"] = cty.NumberIntVal(int64(tt.retry))
		set["retry_wait_min"] = cty.Zero
		_, err := open(t, backend(t, set, nil)).Read(t.Context())
		if (err == nil) != tt.ok || len(s.Log()) != tt.requests {
			t.Errorf("%+v: %v after %d requests", tt, err, len(s.Log()))
		}
		web.Close()
	}
	// Nobody listens any more.
	web := httptest.NewServer(&testservers.HTTP{})
	web.Close()
	set := texts("address", web.URL)
	set["retry_wait_min"] = cty.Zero
	if _, err := open(t, backend(t, set, nil)).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "failed to get state") {
		t.Errorf("got %v", err)
	}
}

// TestStalled has servers that take a request and then do nothing, that stop in
// the middle, and that are slow but get there.
func TestStalled(t *testing.T) {
	var done chan struct{}
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"nothing": func(http.ResponseWriter, *http.Request) { <-done },
		"half": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
			<-done
		},
		"slow": func(w http.ResponseWriter, _ *http.Request) {
			for range 8 {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond) // it is the time that is tested
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(answer))
			defer web.Close()
			done = make(chan struct{})
			defer close(done)
			set := texts("address", web.URL, "lock_address", web.URL)
			set["retry_max"] = cty.Zero
			b := backend(t, set, nil)
			b.client.patience = 100 * time.Millisecond
			s := open(t, b)
			_, err := s.Read(t.Context())
			if name == "slow" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			_, lockErr := s.Lock(t.Context(), storage.LockInfo{ID: "mine"})
			for _, err := range []error{err, lockErr, s.Write(t.Context(), []byte("x"))} {
				if err == nil || !strings.Contains(err.Error(), "did nothing for 100ms") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

// TestSilent has a server that stops answering, in each request.
func TestSilent(t *testing.T) {
	web := httptest.NewServer(&testservers.HTTP{})
	defer web.Close()
	storagetest.Silent(t, "tcp", web.Listener.Addr().String(), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		address = "http://" + address
		b := backend(t, texts("address", address, "lock_address", address, "unlock_address", address), nil)
		return b, func(d time.Duration) { b.client.patience = d }
	})
}

func TestAnswers(t *testing.T) {
	s := &testservers.HTTP{Password: "pw"}
	s.Put("x")
	web := httptest.NewTLSServer(s)
	defer web.Close()
	web.Config.ErrorLog = nil
	read := func(set map[string]cty.Value) error {
		set["retry_max"] = cty.Zero
		_, err := open(t, backend(t, set, nil)).Read(t.Context())
		return err
	}
	trust := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	skip := texts("address", web.URL, "username", "u", "password", "pw")
	skip["skip_cert_verification"] = cty.True
	for name, tt := range map[string]struct {
		set  map[string]cty.Value
		want string
	}{
		"unknown certificate":   {texts("address", web.URL), "certificate"},
		"skipped":               {skip, "<nil>"},
		"trusted":               {texts("address", web.URL, "client_ca_certificate_pem", trust, "username", "u", "password", "pw"), "<nil>"},
		"without a password":    {texts("address", web.URL, "client_ca_certificate_pem", trust), "requires auth"},
		"with a wrong password": {texts("address", web.URL, "client_ca_certificate_pem", trust, "username", "u", "password", "x"), "invalid auth"},
	} {
		if err := read(tt.set); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Damage = true
	if err := read(skip); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("damaged: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	header := func(name, value string) map[string]cty.Value {
		set := texts("address", "http://x", "username", "u")
		set["headers"] = cty.MapVal(map[string]cty.Value{name: cty.StringVal(value)})
		return set
	}
	negative := texts("address", "http://x")
	negative["retry_max"] = cty.NumberIntVal(-1)
	half := texts("address", "http://x")
	half["retry_wait_min"] = cty.NumberFloatVal(0.5)
	for _, tt := range []struct {
		set  map[string]cty.Value
		at   string
		want string
	}{
		{nil, "address", "TF_HTTP_ADDRESS"},
		{texts("address", "ftp://x"), "address", "must be HTTP or HTTPS"},
		{texts("address", "http://[::1"), "address", "not a URL"},
		{texts("address", "http://x", "lock_address", "y"), "lock_address", "must be HTTP or HTTPS"},
		{texts("address", "http://x", "unlock_address", "y"), "unlock_address", "must be HTTP or HTTPS"},
		{negative, "retry_max", "whole number"},
		{half, "retry_wait_min", "whole number"},
		{header("a b", "x"), "headers", "A-Za-z0-9-_"},
		{header("a", " "), "headers", "must not be empty"},
		{header("a", "ü"), "headers", "ascii"},
		{header("Authorization", "x"), "headers", "when providing username"},
		{header("Content-MD5", "x"), "headers", "reserved"},
		{texts("address", "http://x", "client_certificate_pem", "x"), "client_private_key_pem", "is not"},
		{texts("address", "http://x", "client_private_key_pem", "x"), "client_certificate_pem", "is not"},
		{texts("address", "http://x", "client_certificate_pem", "x", "client_private_key_pem", "y"), "client_certificate_pem", "cannot load"},
		{texts("address", "http://x", "client_ca_certificate_pem", "x"), "client_ca_certificate_pem", "PEM"},
	} {
		b, diags := storage.TypeOf(Schema, New).New(config(tt.set), storage.Env{})
		if b != nil || len(diags) != 1 || !diags[0].Path.Equals(cty.GetAttrPath(tt.at)) || !strings.Contains(diags[0].Detail, tt.want) {
			t.Errorf("%v: %v", tt.set, diags)
		}
	}
}

// TestAgent: requests say who asks, and what the environment adds.
func TestAgent(t *testing.T) {
	var agent string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(web.Close)
	one := open(t, backend(t, texts("address", web.URL), map[string]string{"TF_APPEND_USER_AGENT": "Build/7"}))
	if _, err := one.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(agent, "weir/") || !strings.HasSuffix(agent, " Build/7") {
		t.Errorf("%q", agent)
	}
}

// TestLockDoubled: a server that names the requester as the holder may have got the request twice,
// or repeat it. Nobody has the lock for certain, but this process may.
func TestLockDoubled(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusLocked)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	s := open(t, backend(t, texts("address", server.URL, "lock_address", server.URL, "unlock_address", server.URL), nil))
	_, err := s.Lock(t.Context(), storage.LockInfo{ID: "own"})
	if held := (*storage.LockError)(nil); !errors.As(err, &held) || held.Holder.ID != "own" {
		t.Errorf("%v", err)
	}
	if !s.(storage.Unanswered).Unanswered() {
		t.Error("the lock is said not to be this process's")
	}
}
