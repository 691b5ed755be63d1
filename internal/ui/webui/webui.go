// Package webui serves the page of weir ui: a browser on the same machine follows a plan and an
// apply, and sends the user's answers.
//
// It owns the address, who may see it, the stream of what happened and the questions that are
// open. It doesn't know how plans are made and what an answer leads to.
package webui

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/core/diag"
)

// A Server has the page of one run. All methods may be called at once.
type Server struct {
	now   func() time.Time
	token string

	mu       sync.Mutex
	log      []message
	seq      int
	news     chan struct{} // closed when something is added to the log
	ended    bool
	requests int    // that are being answered
	plan     int    // the number of the last plan
	document []byte // its page
	graph    []byte // the page of the configuration
	earlier  func() []Earlier
	question *question
	stop     func() // has the apply stop; nil where it can't

	counted counted
	calls   int // that began, for their names in messages
	running map[string][]int
	serving *http.Server

	// parts are those of a board; name, card and changed are of a part of one.
	parts   []*Server
	name    string
	card    card
	changed func(card)
}

// A message is one line of the stream. Those of a kind that tell how far something is
// take the place of the one before.
type message struct {
	seq  int
	kind string
	text []byte
}

// A question is one that the page may answer.
type question struct {
	plan    int
	choices []string
	refused func(choice string) string
	answer  chan string
}

// New makes a server whose address has a token, which nobody may guess. It isn't there for
// anybody before Listen, or before Handler is served.
func New(token string, now func() time.Time) *Server {
	return &Server{now: now, token: token, news: make(chan struct{}), running: map[string][]int{}}
}

// Serve serves the page of a run at an address of its own, and says where that is; nil where
// that can't be.
func Serve(ctx context.Context, port int, say func(string)) (*Server, diag.List) {
	s := New(newToken(), time.Now)
	address, err := s.Listen(ctx, port)
	if err != nil {
		return nil, Unserved.List("The address can't be served: %s. Without -port a port is used that is free.", diag.Cause(err))
	}
	say("The page of this run, for this machine alone:\n  " + address + "\n\n")
	return s, nil
}

// newToken makes a token of 256 random bits, which may be part of an address.
func newToken() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// Listen serves the page on a port of the loopback interface, 0 for one that is free, and
// returns its address.
func (s *Server) Listen(ctx context.Context, port int) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	bound := l.Addr().(*net.TCPAddr).Port
	s.serving = &http.Server{Handler: s.Handler(bound), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = s.serving.Serve(l) }() // it ends with Close
	return fmt.Sprintf("http://127.0.0.1:%d%s", bound, s.Path()), nil
}

// Path is that of the page, with the token.
func (s *Server) Path() string { return "/" + s.token + "/" }

// How long pages may take to read the end, and connections to be over then.
const (
	lastWords  = 2 * time.Second
	lastMoment = 200 * time.Millisecond
)

// Close ends the stream: pages that are open get all of it first, unless they don't read.
func (s *Server) Close() {
	s.mu.Lock()
	s.ended = true
	parts := s.parts
	s.wake()
	s.mu.Unlock()
	for _, part := range parts {
		part.Close()
	}
	if s.serving == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	for open, news := s.busy(); open; open, news = s.busy() {
		select {
		case <-news:
		case <-ctx.Done():
			_ = s.serving.Close()
			return
		}
	}
	// Browsers hold connections open that they may come to need.
	ctx, cancel = context.WithTimeout(context.Background(), lastMoment)
	defer cancel()
	if s.serving.Shutdown(ctx) != nil {
		_ = s.serving.Close()
	}
}

// busy reports whether requests are being answered, and what is closed when that changes.
func (s *Server) busy() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests > 0, s.news
}

// count counts the requests that are being answered.
func (s *Server) count(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests += by; s.ended {
		s.wake()
	}
}

// Handler answers requests to the port. A caller that doesn't have the token learns nothing,
// and names other than those of the loopback interface aren't answered: a foreign page could
// have had its own name lead here.
func (s *Server) Handler(port int) http.Handler {
	mux := http.NewServeMux()
	s.route(mux, s.Path())
	s.routeParts(mux, s.Path())
	hosts := []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("localhost:%d", port)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guarded(w.Header())
		token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !slices.Contains(hosts, r.Host):
			http.Error(w, "This address is for the machine that weir runs on.", http.StatusForbidden)
		case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
			http.NotFound(w, r)
		case r.Method == http.MethodPost && !fromPage(r):
			http.Error(w, "weir takes answers only from its own page.", http.StatusForbidden)
		default:
			s.count(1)
			defer s.count(-1)
			mux.ServeHTTP(w, r)
		}
	})
}

// route serves the page, its stream and what it shows below a path.
func (s *Server) route(mux *http.ServeMux, at string) {
	mux.HandleFunc("GET "+at+"{$}", s.page)
	mux.HandleFunc("GET "+at+"events", s.events)
	mux.HandleFunc("GET "+at+"plan/{number}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		number, document := s.plan, s.document
		s.mu.Unlock()
		show(w, r, number, document)
	})
	mux.HandleFunc("GET "+at+"graph/{number}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		number, document := s.plan, s.graph
		s.mu.Unlock()
		show(w, r, number, document)
	})
	mux.HandleFunc("GET "+at+"earlier", s.showEarlier)
	mux.HandleFunc("POST "+at+"answer", s.answer)
	mux.HandleFunc("POST "+at+"stop", s.stopped)
}

// guarded sets what keeps browsers from handing the page or its address on.
func guarded(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "frame-ancestors 'self'")
}

// fromPage reports whether a request with an answer is one that the page sends: browsers
// say where one comes from, and ask before another site may send JSON.
func fromPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") == "http://"+r.Host && (site == "" || site == "same-origin") && r.Header.Get("Content-Type") == "application/json"
}

// show sends a page that belongs to a plan, unless there is a newer plan.
func show(w http.ResponseWriter, r *http.Request, number int, document []byte) {
	if r.PathValue("number") != strconv.Itoa(number) || document == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(document)
}

// ErrWithdrawn is why there is no answer: nobody may give one any more.
var ErrWithdrawn = errors.New("the question is withdrawn")

// Ask has the page query a plan, and waits for one of the choices. When the context ends
// first, no answer is taken any more; one that was taken counts. The result of rejected for a choice, if any, is why it isn't taken at this moment.
func (s *Server) Ask(ctx context.Context, plan int, refused func(choice string) string, choices ...string) (string, error) {
	q := &question{plan: plan, choices: choices, refused: refused, answer: make(chan string, 1)}
	s.mu.Lock()
	s.question = q
	s.add("ask", map[string]any{"plan": plan, "choices": choices})
	s.mu.Unlock()
	select {
	case choice := <-q.answer:
		return choice, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case choice := <-q.answer:
		return choice, nil
	default:
	}
	s.question = nil
	s.add("withdrawn", map[string]any{"plan": plan})
	return "", ErrWithdrawn
}

// settle takes an answer, and says why not.
func (s *Server) settle(plan int, choice string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch q := s.question; {
	case plan != s.plan:
		return "There is a newer plan than the one that this answers."
	case q == nil || q.plan != plan:
		return "Nothing is asked, or somebody has answered already."
	case !slices.Contains(q.choices, choice):
		return "That isn't one of the answers."
	default:
		if q.refused != nil {
			if why := q.refused(choice); why != "" {
				return why
			}
		}
		s.question = nil
		s.add("answered", map[string]any{"plan": plan, "choice": choice})
		q.answer <- choice
		return ""
	}
}
