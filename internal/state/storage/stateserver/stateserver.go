// Package stateserver serves the states of a backend over HTTP, by the protocol of the http
// backend: GET, POST, DELETE, LOCK and UNLOCK at a path for each workspace.
//
// It owns the protocol and who may use it. Locks are those of the backend, so that clients
// exclude everyone else who uses it. It doesn't know what states mean, and prints nothing.
package stateserver

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
)

// Unserved says that no states can be served, whatever the reason.
var Unserved = diag.Code{Name: "states-not-served", Summary: "No states can be served"}

// A Server serves the states of a backend. All methods may be called at once.
type Server struct {
	Backend storage.Backend
	// Open opens the state of a workspace, in clear if the backend has it encrypted.
	Open func(workspace string) (storage.Store, error)
	// Valid reports whether a workspace can have that name.
	Valid func(name string) bool
	// Password is what clients send, with any user name or as a bearer token.
	Password string
	// Log gets a line for each lock and each change. Clients wrote parts of it.
	Log func(line string)

	mu  sync.Mutex
	all map[string]*workspace
}

// A workspace has one request at a time that changes something.
type workspace struct {
	*Server
	name string

	mu   sync.Mutex
	held *hold // the last lock that a client took; somebody may have released it elsewhere
	// released is the ID of the lock that was released last: the answer may have been lost.
	released string
}

// A hold is a lock that a client has.
type hold struct {
	info  storage.LockInfo // that the client sent
	id    string           // in the backend; empty where that has no locks
	store storage.Store    // that took the lock, or continues with it
}

// Limits of what clients send.
const (
	mostState = 1 << 30
	mostLock  = 64 << 10
)

// lastMoment is how long requests may still take after the end.
const lastMoment = 30 * time.Second

// Serve answers requests until the context ends. Those that are under way then are finished.
func (s *Server) Serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	server := &http.Server{
		Handler: s, TLSConfig: secure, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: mostLock, ErrorLog: log.New(io.Discard, "", 0), // it is about clients
	}
	over := make(chan error, 1)
	go func() {
		if secure != nil {
			over <- server.ServeTLS(l, "", "")
		} else {
			over <- server.Serve(l)
		}
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
	defer cancel()
	return server.Shutdown(last)
}

// Held are the locks that clients hold, by workspace.
func (s *Server) Held(ctx context.Context) map[string]storage.LockInfo {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	locks := map[string]storage.LockInfo{}
	for _, w := range all {
		w.mu.Lock()
		if w.held != nil && w.held.stands(ctx) {
			locks[w.name] = w.held.info
		}
		w.mu.Unlock()
	}
	return locks
}

// An answer is what a client gets.
type answer struct {
	status int
	tag    string // of the state, "" for none
	sum    string // of the body, "" for none
	json   bool
	body   []byte
}

func say(status int, format string, args ...any) answer {
	return answer{status: status, body: fmt.Appendf(nil, format+"\n", args...)}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.answer(w, r)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if a.json {
		h.Set("Content-Type", "application/json")
	}
	if a.tag != "" {
		h.Set("ETag", a.tag)
	}
	if a.sum != "" {
		h.Set("Content-MD5", a.sum)
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead && a.status != http.StatusNotModified {
		_, _ = w.Write(a.body)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) answer {
	// Without WWW-Authenticate browsers ask nobody for the password, and so can't send it for a
	// foreign page.
	switch given, ok := password(r); {
	case !ok:
		return say(http.StatusUnauthorized, "Send the password of the server, with any user name or as a bearer token.")
	case !s.knows(given):
		return say(http.StatusForbidden, "The password is wrong.")
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		return s.list(r.Context())
	}
	if !s.Valid(name) {
		return say(http.StatusNotFound, "No workspace can have this name. States are at /WORKSPACE, and / lists them.")
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return s.get(r, name)
	}
	limit := int64(mostLock)
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		limit = mostState
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return say(http.StatusBadRequest, "The request can't be read: %s.", err)
	}
	if sum := r.Header.Get("Content-MD5"); sum != "" && sum != checksum(body) {
		return say(http.StatusBadRequest, "The content doesn't have the checksum in Content-MD5; it was damaged on the way.")
	}
	// A client that has gone doesn't know what was done, so it is done whole.
	ctx := context.WithoutCancel(r.Context())
	at := s.at(name)
	at.mu.Lock()
	defer at.mu.Unlock()
	switch r.Method {
	case http.MethodPost, http.MethodPut:
		return at.put(ctx, r, body)
	case http.MethodDelete:
		return at.remove(ctx, r)
	case "LOCK":
		return at.lock(ctx, body)
	case "UNLOCK":
		return at.unlock(ctx, r.URL.Query().Get("ID"), body)
	}
	return say(http.StatusMethodNotAllowed, "The methods are GET, POST, DELETE, LOCK and UNLOCK.")
}

// password is what a client sends, and whether it sends any.
func password(r *http.Request) (string, bool) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token, true
	}
	_, given, ok := r.BasicAuth()
	return given, ok
}

// knows compares the password in the same time, however much of it is right.
func (s *Server) knows(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Password))
	return s.Password != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func (s *Server) at(name string) *workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*workspace{}
	}
	if s.all[name] == nil {
		s.all[name] = &workspace{Server: s, name: name}
	}
	return s.all[name]
}

func (s *Server) list(ctx context.Context) answer {
	names, err := s.Backend.Workspaces(ctx)
	if errors.Is(err, storage.ErrWorkspacesNotSupported) {
		names, err = []string{storage.DefaultWorkspace}, nil
	}
	if err != nil {
		return failed(err)
	}
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + name + "\n")
	}
	return answer{status: http.StatusOK, body: []byte(b.String())}
}

// open opens a state that nobody has read yet.
func (s *Server) open(name string) (storage.Store, error) {
	store, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	if p, ok := store.(storage.Placeholder); ok {
		err = p.Placeholder([]byte(storage.NoState))
	}
	return store, err
}

// read is a state, nil for none. Some backends have a text in the place of one that nobody has written.
func read(ctx context.Context, store storage.Store) ([]byte, error) {
	content, err := store.Read(ctx)
	if string(content) == storage.NoState {
		content = nil
	}
	return content, err
}

func (s *Server) get(r *http.Request, name string) answer {
	store, err := s.open(name)
	if err != nil {
		return failed(err)
	}
	content, err := read(r.Context(), store)
	switch {
	case err != nil:
		return failed(err)
	case content == nil:
		return say(http.StatusNotFound, "The workspace %q has no state.", name)
	}
	tag := tagOf(content)
	if given := r.Header.Get("If-None-Match"); given != "" && names(given, tag) {
		return answer{status: http.StatusNotModified, tag: tag}
	}
	return answer{status: http.StatusOK, tag: tag, sum: checksum(content), json: true, body: content}
}

// put writes the state: under the lock that the client names, or else under one of its own.
func (w *workspace) put(ctx context.Context, r *http.Request, state []byte) answer {
	if len(state) == 0 {
		return say(http.StatusBadRequest, "The request has no state.")
	}
	h, release, no := w.claim(ctx, r)
	if h == nil {
		return no
	}
	defer release()
	if conditional(r) {
		content, err := read(ctx, h.store)
		if err != nil {
			return failed(err)
		}
		if no := required(r, content); no.status != 0 {
			return no
		}
	}
	state = laidOut(state)
	if err := h.store.Write(ctx, state); err != nil {
		return failed(err)
	}
	w.note("%d bytes were written by %s", len(state), h.info.Who)
	return answer{status: http.StatusOK, tag: tagOf(state)}
}

// laidOut is a state in the layout of files. OpenTofu and Terraform send states on one line, of which
// a database can't make rows.
func laidOut(state []byte) []byte {
	line := bytes.TrimSpace(state)
	var head struct {
		Version   int                `json:"version"`
		Lineage   *string            `json:"lineage"`
		Resources *[]json.RawMessage `json:"resources"`
	}
	if bytes.ContainsRune(line, '\n') || json.Unmarshal(line, &head) != nil || head.Version != 4 || head.Lineage == nil || head.Resources == nil {
		return state
	}
	var b bytes.Buffer
	_ = json.Indent(&b, line, "", "  ") // it was read before
	b.WriteByte('\n')
	return b.Bytes()
}

// remove deletes the workspace, unless its state still has objects.
func (w *workspace) remove(ctx context.Context, r *http.Request) answer {
	if w.name == storage.DefaultWorkspace {
		return say(http.StatusConflict, "The default workspace can't be deleted.")
	}
	h, release, no := w.claim(ctx, r)
	if h == nil {
		return no
	}
	defer release()
	content, err := read(ctx, h.store)
	if err != nil {
		return failed(err)
	}
	switch no := required(r, content); {
	case no.status != 0:
		return no
	case !isEmpty(content):
		return say(http.StatusConflict, "The state of the workspace %q has objects, or can't be read here, so it isn't deleted. Destroy them first, or run \"weir workspace delete -force %s\" where the server runs.", w.name, w.name)
	}
	if h.id != "" { // it may be a file beside the state
		if err := h.store.Unlock(ctx, h.id); err != nil {
			return failed(err)
		}
		h.id = ""
	}
	if w.held == h {
		w.held, w.released = nil, h.info.ID
	}
	if err := w.Backend.DeleteWorkspace(ctx, w.name); err != nil {
		return failed(err)
	}
	w.note("it was deleted by %s", h.info.Who)
	return say(http.StatusOK, "Deleted.")
}

// conditional reports whether a request is about a certain state.
func conditional(r *http.Request) bool {
	return r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != ""
}

// required has a request fail whose conditions the state doesn't meet.
func required(r *http.Request, state []byte) (no answer) {
	match, none, tag := r.Header.Get("If-Match"), r.Header.Get("If-None-Match"), tagOf(state)
	if match != "" && !names(match, tag) || none != "" && names(none, tag) {
		no = say(http.StatusPreconditionFailed, "The state isn't the one that the request is about.")
		no.tag = tag
	}
	return no
}

// note logs what happened.
func (w *workspace) note(format string, args ...any) {
	if w.Log != nil {
		w.Log(w.name + ": " + fmt.Sprintf(format, args...))
	}
}

// failed is the answer for an error of the backend.
func failed(err error) answer {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, storage.ErrChanged):
		status = http.StatusPreconditionFailed
	case errors.As(err, new(*storage.LockError)), errors.Is(err, storage.ErrNoLock):
		status = http.StatusConflict
	case errors.Is(err, storage.ErrWorkspacesNotSupported), errors.Is(err, storage.ErrNoDefaultWorkspace):
		status = http.StatusNotFound
	}
	return say(status, "%s.", strings.TrimSpace(err.Error()))
}

// tagOf names a state, "" for none.
func tagOf(state []byte) string {
	if state == nil {
		return ""
	}
	sum := sha256.Sum256(state)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func checksum(body []byte) string {
	sum := md5.Sum(body)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// names reports whether a list of tags, or "*", names a state.
func names(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); tag != "" && (one == "*" || one == tag) {
			return true
		}
	}
	return false
}
