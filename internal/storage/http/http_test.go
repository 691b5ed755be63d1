package http

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/storage/storagetest"
)

// server is a minimal implementation of the other side.
type server struct {
	mu       sync.Mutex
	state    []byte
	lock     *storage.LockInfo
	log      []string
	fail     int // answer that many requests with 503
	password string
	damage   bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.log = append(s.log, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-Team"))
	if s.fail > 0 {
		s.fail--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if _, password, ok := r.BasicAuth(); s.password != "" {
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if password != s.password {
			w.WriteHeader(http.StatusForbidden)
			return
		}
	}
	if len(body) > 0 {
		sum := md5.Sum(body)
		if r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(sum[:]) || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	switch r.Method {
	case "GET":
		if s.state == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		sum := md5.Sum(s.state)
		if s.damage {
			sum[0]++
		}
		w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		w.Write(s.state)
	case "POST", "PUT":
		if s.lock != nil && r.URL.Query().Get("ID") != s.lock.ID {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.state = body
	case "LOCK":
		if s.lock != nil {
			w.WriteHeader(http.StatusLocked)
			w.Write(s.lock.JSON())
			return
		}
		s.lock, _ = storage.ParseLockInfo(body)
	case "UNLOCK":
		info, err := storage.ParseLockInfo(body)
		if err != nil || s.lock == nil || info.ID != s.lock.ID {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.lock = nil
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

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
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		web := httptest.NewServer(&server{})
		t.Cleanup(web.Close)
		return storagetest.Subject{
			OneWorkspace: true,
			New: func(t *testing.T) storage.Backend {
				return backend(t, texts("address", web.URL, "lock_address", web.URL, "unlock_address", web.URL), nil)
			},
		}
	})
}

func TestSuiteWithoutLock(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		web := httptest.NewServer(&server{})
		t.Cleanup(web.Close)
		return storagetest.Subject{
			OneWorkspace: true,
			NoLock:       true,
			New:          func(t *testing.T) storage.Backend { return backend(t, texts("address", web.URL), nil) },
		}
	})
}

func TestRequests(t *testing.T) {
	s := &server{}
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
	want := []string{"LOCK /l blue", "PUT /s?ID=the+id&a=b blue", "GET /s?a=b blue", "UNLOCK /u blue", "PUT /s?a=b blue"}
	if !slices.Equal(s.log, want) {
		t.Errorf("got  %q\nwant %q", s.log, want)
	}
}

func TestForceUnlock(t *testing.T) {
	s := &server{lock: &storage.LockInfo{ID: "left"}}
	web := httptest.NewServer(s)
	defer web.Close()
	store := open(t, backend(t, texts("address", web.URL, "lock_address", web.URL, "unlock_address", web.URL), nil))
	if err := store.Unlock(t.Context(), "left"); err != nil || s.lock != nil {
		t.Errorf("%v, %v", err, s.lock)
	}
}

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		fail, retry, requests int
		ok                    bool
	}{
		{0, 2, 1, true}, {2, 2, 3, true}, {3, 2, 3, false}, {1, 0, 1, false},
	} {
		s := &server{state: []byte("x"), fail: tt.fail}
		web := httptest.NewServer(s)
		set := texts("address", web.URL)
		set["retry_max"] = cty.NumberIntVal(int64(tt.retry))
		set["retry_wait_min"] = cty.Zero
		_, err := open(t, backend(t, set, nil)).Read(t.Context())
		if (err == nil) != tt.ok || len(s.log) != tt.requests {
			t.Errorf("%+v: %v after %d requests", tt, err, len(s.log))
		}
		web.Close()
	}
	// Nobody listens any more.
	web := httptest.NewServer(&server{})
	web.Close()
	set := texts("address", web.URL)
	set["retry_wait_min"] = cty.Zero
	if _, err := open(t, backend(t, set, nil)).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "failed to get state") {
		t.Errorf("got %v", err)
	}
}

func TestAnswers(t *testing.T) {
	s := &server{state: []byte("x"), password: "pw"}
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
	s.damage = true
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
		b, diags := Type.New(config(tt.set), storage.Env{})
		if b != nil || len(diags) != 1 || !diags[0].Path.Equals(cty.GetAttrPath(tt.at)) || !strings.Contains(diags[0].Detail, tt.want) {
			t.Errorf("%v: %v", tt.set, diags)
		}
	}
}
