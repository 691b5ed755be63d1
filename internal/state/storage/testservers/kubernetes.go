package testservers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Kubernetes keeps the secrets and leases of a cluster as its API server does, as far as
// backends ask. The zero value is ready.
type Kubernetes struct {
	mu      sync.Mutex
	objects map[string]map[string]any // by path
	last    int                       // version
	log     []Request
	lose    int
}

// Lose has it do the next change and not answer.
func (s *Kubernetes) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = 1
}

// Log is the requests since the last Log.
func (s *Kubernetes) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// Data is what a secret of the default namespace has under a key, nil for nothing.
func (s *Kubernetes) Data(secret, key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, _ := s.objects["/api/v1/namespaces/default/secrets/"+secret]["data"].(map[string]any)
	text, ok := data[key].(string)
	if !ok {
		return nil
	}
	content, _ := base64.StdEncoding.DecodeString(text)
	return content
}

// Change changes an object as somebody else would, by its path.
func (s *Kubernetes) Change(path string, change func(object map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.objects[path])
	s.stamp(s.objects[path])
}

func (s *Kubernetes) stamp(o map[string]any) {
	s.last++
	metadataOf(o)["resourceVersion"] = strconv.Itoa(s.last)
}

func metadataOf(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// ServeHTTP implements http.Handler.
func (s *Kubernetes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := bodyOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]map[string]any{}
	}
	s.log = append(s.log, Request{r.Header.Get("Authorization"), r.Method, r.URL.RequestURI(), r.Header})
	w.Header().Set("Content-Type", "application/json")
	var sent map[string]any
	if len(body) > 0 && json.Unmarshal(body, &sent) != nil {
		status(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", r.URL.Path)
		return
	}
	path := r.URL.Path
	isKind := strings.HasSuffix(path, "/secrets") || strings.HasSuffix(path, "/leases")
	have, there := s.objects[path]
	switch {
	case r.Method == http.MethodGet && isKind:
		s.list(w, path+"/", r.URL.Query().Get("labelSelector"))
	case r.Method == http.MethodPost && isKind:
		path += "/" + fmt.Sprint(metadataOf(sent)["name"])
		if _, there := s.objects[path]; there {
			status(w, http.StatusConflict, "AlreadyExists", path)
			return
		}
		s.keep(w, path, sent, http.StatusCreated)
	case !there:
		status(w, http.StatusNotFound, "NotFound", path)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(have)
	case r.Method == http.MethodDelete:
		delete(s.objects, path)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	case r.Method == http.MethodPut && metadataOf(sent)["resourceVersion"] != metadataOf(have)["resourceVersion"]:
		status(w, http.StatusConflict, "Conflict", path)
	case r.Method == http.MethodPut:
		s.keep(w, path, sent, http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *Kubernetes) keep(w http.ResponseWriter, path string, o map[string]any, code int) {
	kind, version := "Secret", "v1"
	if strings.Contains(path, "/leases/") {
		kind, version = "Lease", "coordination.k8s.io/v1"
	}
	o["kind"], o["apiVersion"] = kind, version
	s.stamp(o)
	s.objects[path] = o
	if s.lose > 0 {
		s.lose--
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

func status(w http.ResponseWriter, code int, reason, path string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, path+": "+reason, reason, code)
}

func (s *Kubernetes) list(w io.Writer, under, selector string) {
	items := []map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		name, value, _ := strings.Cut(selector, "=")
		labels, _ := metadataOf(s.objects[path])["labels"].(map[string]any)
		if strings.HasPrefix(path, under) && (selector == "" || labels[name] == value) {
			items = append(items, s.objects[path])
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "SecretList", "apiVersion": "v1", "metadata": map[string]any{}, "items": items})
}
