package webui

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var markup string

//go:embed page.css
var css string

//go:embed page.js
var script string

// page sends the page, which then asks for events. Nothing but its own script runs in it.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	document, program := s.written()
	sum := sha256.Sum256([]byte(program))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	_, _ = io.WriteString(w, document)
}

// most is how many bytes an answer has at most.
const most = 4 << 10

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Plan   int    `json:"plan"`
		Choice string `json:"choice"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&body); err != nil {
		http.Error(w, "This isn't an answer.", http.StatusBadRequest)
		return
	}
	if problem := s.settle(body.Plan, body.Choice); problem != "" {
		http.Error(w, problem, http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Stoppable offers to stop an apply from the page. The function is called for each request:
// the first stops gracefully, a further one abandons what runs.
func (s *Server) Stoppable(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = stop
}

func (s *Server) stopped(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	stop, parts := s.stop, s.parts
	s.mu.Unlock()
	if stop == nil || !s.applies() && !slices.ContainsFunc(parts, (*Server).applies) {
		http.Error(w, "Nothing is being applied.", http.StatusConflict)
		return
	}
	if parts != nil { // a page of its own learns it from its apply
		s.mu.Lock()
		s.add("stopping", nil)
		s.mu.Unlock()
	}
	stop()
	w.WriteHeader(http.StatusNoContent)
}

// applies reports whether an apply runs.
func (s *Server) applies() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted.tally != nil && s.counted.tally.Total > 0
}

// events sends all that has happened to the last plan, and then what happens, until the run or
// the request ends. Anyone who comes back gets what he doesn't have.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "No events can be sent here.", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	for {
		list, news, ended := s.after(last)
		var b strings.Builder
		for _, m := range list {
			fmt.Fprintf(&b, "id: %d\ndata: %s\n\n", m.seq, m.text)
			last = m.seq
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return
		}
		flusher.Flush()
		if ended {
			return
		}
		select {
		case <-news:
		case <-r.Context().Done():
			return
		}
	}
}

// after are the messages after one, what is closed when there are more, and whether there
// will be none.
func (s *Server) after(last int) ([]message, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.log)
	for from > 0 && s.log[from-1].seq > last {
		from--
	}
	return append([]message(nil), s.log[from:]...), s.news, s.ended
}

// add puts a message into the stream; it needs the lock.
func (s *Server) add(kind string, payload map[string]any) {
	if s.ended {
		return
	}
	if payload == nil {
		payload = map[string]any{}
	}
	payload["type"] = kind
	s.write(kind, payload)
	if s.changed != nil && s.card.noted(kind, payload) {
		s.changed(s.card)
	}
}

// write puts a message into the stream; it needs the lock.
func (s *Server) write(kind string, payload map[string]any) {
	if s.ended {
		return
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return // there is nothing in it that can't be written
	}
	s.seq++
	m := message{s.seq, kind, text}
	if n := len(s.log); n > 0 && s.log[n-1].kind == kind && (kind == "looked" || kind == "count") {
		s.log[n-1] = m
	} else {
		s.log = append(s.log, m)
	}
	s.wake()
}

// wake informs those who wait for messages; it needs the lock.
func (s *Server) wake() {
	close(s.news)
	s.news = make(chan struct{})
}
