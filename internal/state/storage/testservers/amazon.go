package testservers

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Amazon keeps objects as S3 does, as far as the lock in a bucket and states ask: whole
// objects, and uploads that are held to a tag or to there being nothing. The zero value
// is ready.
type Amazon struct {
	mu      sync.Mutex
	objects map[string][]byte // by path
}

// Object is the content of the object with that path, nil for none.
func (s *Amazon) Object(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

// Put replaces an object behind everybody's back.
func (s *Amazon) Put(path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(path, content)
}

func (s *Amazon) put(path string, content []byte) {
	if s.objects == nil {
		s.objects = map[string][]byte{}
	}
	s.objects[path] = content
}

// ServeHTTP implements http.Handler.
func (s *Amazon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
	}
	tag := func(content []byte) string {
		sum := sha256.Sum256(content)
		return `"` + hex.EncodeToString(sum[:16]) + `"`
	}
	there, ok := s.objects[r.URL.Path]
	switch r.Method {
	case http.MethodGet:
		if query := r.URL.Query(); query.Get("list-type") != "" {
			_, _ = io.WriteString(w, s.list(strings.TrimSuffix(r.URL.Path, "/")+"/", query.Get("prefix")))
			return
		}
		if !ok {
			refuse(http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", tag(there))
		_, _ = w.Write(there)
	case http.MethodPut:
		want := r.Header.Get("If-Match")
		switch {
		case want != "" && !ok:
			refuse(http.StatusNotFound, "NoSuchKey")
			return
		case want != "" && want != tag(there), ok && r.Header.Get("If-None-Match") == "*":
			refuse(http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		s.put(r.URL.Path, body)
		w.Header().Set("ETag", tag(body))
	case http.MethodDelete:
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// list is the objects of a bucket.
func (s *Amazon) list(bucket, prefix string) string {
	var keys strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if key, in := strings.CutPrefix(path, bucket); in && strings.HasPrefix(key, prefix) {
			keys.WriteString("<Contents><Key>" + key + "</Key></Contents>")
		}
	}
	return "<ListBucketResult>" + keys.String() + "</ListBucketResult>"
}
