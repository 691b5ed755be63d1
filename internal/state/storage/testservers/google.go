package testservers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Google keeps the objects of a bucket named states as Cloud Storage does, as far as
// backends ask: its JSON API, and downloads by its XML API. The zero value is ready.
type Google struct {
	mu      sync.Mutex
	objects map[string]stored
	last    int // generation
	log     []Request
	fail    int
	lose    int
}

type stored struct {
	content    []byte
	generation int
}

// A Request is what was asked of a server.
type Request struct {
	Who, Method, Path string
	Header            http.Header
}

// Fail has it answer that many requests with 503.
func (s *Google) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = n
}

// Lose has it take the next upload and answer with 502.
func (s *Google) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = 1
}

// Object is the content of an object and its generation, nil and 0 for none.
func (s *Google) Object(name string) (content []byte, generation int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[name].content, s.objects[name].generation
}

// Put makes an object, or replaces it.
func (s *Google) Put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]stored{}
	}
	s.objects[name] = stored{content, s.objects[name].generation + 1}
}

// Log is the requests since the last Log.
func (s *Google) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// ServeHTTP implements http.Handler.
func (s *Google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	path := r.URL.EscapedPath()
	s.log = append(s.log, Request{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Method, path, r.Header})
	w.Header().Set("Content-Type", "application/json")
	const bucket = "/storage/v1/b/states/o"
	switch {
	case s.fail > 0:
		s.fail--
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasSuffix(path, ":generateAccessToken"):
		fmt.Fprint(w, `{"accessToken":"other","expireTime":"2099-01-01T00:00:00Z"}`)
	case path == "/upload"+bucket && r.Method == http.MethodPost:
		s.upload(w, r, body)
	case path == bucket && r.Method == http.MethodGet:
		s.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter"))
	case strings.HasPrefix(path, bucket+"/"):
		s.one(w, r, unescaped(strings.TrimPrefix(path, bucket+"/")), r.URL.Query().Get("alt") == "media")
	case strings.HasPrefix(path, "/states/") && r.Method == http.MethodGet:
		s.one(w, r, unescaped(strings.TrimPrefix(path, "/states/")), true)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func unescaped(text string) string {
	name, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return name
}

// stands reports whether the condition of a request holds, and says so if not.
func (s *Google) stands(w http.ResponseWriter, r *http.Request, name string) bool {
	want := r.URL.Query().Get("ifGenerationMatch")
	if want == "" || want == strconv.Itoa(s.objects[name].generation) {
		return true
	}
	w.WriteHeader(http.StatusPreconditionFailed)
	fmt.Fprint(w, `{"error":{"code":412,"message":"conditionNotMet"}}`)
	return false
}

func (s *Google) upload(w http.ResponseWriter, r *http.Request, body []byte) {
	name := r.URL.Query().Get("name")
	if r.URL.Query().Get("uploadType") == "multipart" {
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		var named struct {
			Name string `json:"name"`
		}
		if part, err := parts.NextPart(); err == nil {
			_ = json.NewDecoder(part).Decode(&named)
		}
		if name == "" {
			name = named.Name
		}
		part, err := parts.NextPart()
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body, _ = io.ReadAll(part)
	}
	if !s.stands(w, r, name) {
		return
	}
	if s.objects == nil {
		s.objects = map[string]stored{}
	}
	s.last++
	s.objects[name] = stored{body, s.last}
	if s.lose > 0 {
		s.lose--
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	s.describe(w, name)
}

func (s *Google) describe(w io.Writer, name string) {
	o := s.objects[name]
	fmt.Fprintf(w, `{"kind":"storage#object","bucket":"states","name":%q,"generation":"%d","metageneration":"1","size":"%d"}`, name, o.generation, len(o.content))
}

func (s *Google) list(w io.Writer, prefix, delimiter string) {
	var names []map[string]string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if rest, found := strings.CutPrefix(name, prefix); found && (delimiter == "" || !strings.Contains(rest, delimiter)) {
			names = append(names, map[string]string{"name": name})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": names})
}

func (s *Google) one(w http.ResponseWriter, r *http.Request, name string, content bool) {
	o, there := s.objects[name]
	switch {
	case !there:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"code":404,"message":"No such object"}}`)
	case !s.stands(w, r, name):
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case content:
		w.Header().Set("X-Goog-Generation", strconv.Itoa(o.generation))
		w.Header().Set("X-Goog-Metageneration", "1")
		w.Header().Set("Content-Length", strconv.Itoa(len(o.content)))
		_, _ = w.Write(o.content)
	default:
		s.describe(w, name)
	}
}
