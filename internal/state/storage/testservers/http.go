// Package testservers runs real state servers for tests of backends and of the program.
//
// It owns servers of the REST protocol, of Cloud Storage's API and of S3's, and starting a
// PostgreSQL. It doesn't be imported by anything but tests.
package testservers

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"sync"

	"weir.dev/weir/internal/state/storage"
)

// HTTP keeps one state and its lock. The zero value is ready.
type HTTP struct {
	// Tags has it send the tag of each state, and hold uploads to them.
	Tags bool
	// Lax has it release a lock whatever its id.
	Lax bool
	// Password is that of basic authentication, empty for none.
	Password string
	// Damage has it send wrong checksums.
	Damage bool

	mu    sync.Mutex
	state []byte
	lock  []byte
	id    string
	log   []string
	fail  int
	lose  int
}

// Fail has it answer that many requests with 503.
func (s *HTTP) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = n
}

// Lose has it do what the next upload or lock asks for, and answer with 503.
func (s *HTTP) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = 1
}

// Put replaces the state behind everybody's back.
func (s *HTTP) Put(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = []byte(state)
}

// Change has it ask for another password from now on.
func (s *HTTP) Change(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Password = password
}

// State is what it keeps, nil for nothing.
func (s *HTTP) State() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Hold has somebody hold the lock.
func (s *HTTP) Hold(info storage.LockInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lock, s.id = info.JSON(), info.ID
}

// Locked reports whether somebody holds the lock.
func (s *HTTP) Locked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock != nil
}

// Log is the requests so far.
func (s *HTTP) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

func tag(state []byte) string {
	sum := sha256.Sum256(state)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// ServeHTTP implements http.Handler.
func (s *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	s.log = append(s.log, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-Team"))
	if s.fail > 0 {
		s.fail--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if _, password, ok := r.BasicAuth(); s.Password != "" && password != s.Password {
		w.WriteHeader(map[bool]int{true: http.StatusForbidden, false: http.StatusUnauthorized}[ok])
		return
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
		s.get(w, r)
	case "POST", "PUT":
		w.WriteHeader(s.put(w, r, body))
	case "LOCK":
		if s.lock != nil {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(s.lock)
			return
		}
		if info, err := storage.ParseLockInfo(body); err == nil {
			s.lock, s.id = body, info.ID
		}
		if s.lose > 0 {
			s.lose--
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case "UNLOCK":
		info, err := storage.ParseLockInfo(body)
		if !s.Lax && (err != nil || s.lock == nil || info.ID != s.id) {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.lock = nil
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *HTTP) get(w http.ResponseWriter, r *http.Request) {
	if s.state == nil {
		w.Header().Set("ETag", `"of the error"`)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if s.Tags {
		w.Header().Set("ETag", tag(s.state))
		if r.Header.Get("If-None-Match") == tag(s.state) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	sum := md5.Sum(s.state)
	if s.Damage {
		sum[0]++
	}
	w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	_, _ = w.Write(s.state)
}

func (s *HTTP) put(w http.ResponseWriter, r *http.Request, body []byte) int {
	if s.lock != nil && r.URL.Query().Get("ID") != s.id {
		return http.StatusConflict
	}
	if want := r.Header.Get("If-Match"); s.Tags && want != "" && (s.state == nil || want != tag(s.state)) {
		return http.StatusPreconditionFailed
	}
	if r.Header.Get("If-None-Match") == "*" && s.Tags && s.state != nil {
		return http.StatusPreconditionFailed
	}
	s.state = body
	if s.Tags {
		w.Header().Set("ETag", tag(body))
	}
	if s.lose > 0 {
		s.lose--
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
