package testservers

import (
	"crypto/md5" // #nosec G501 -- tags
	"encoding/xml"
	"fmt"
	"hash/crc64"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A Bucket keeps the objects of a bucket named states as OSS of Alibaba and COS of Tencent
// do, as far as backends ask. It is reached by its name in the host, or in the path where
// the host is an address.
type Bucket struct {
	vendor string // what names of headers begin with
	// verify finds out what is wrong with the signature of a request for an object, "" for
	// the bucket.
	verify func(r *http.Request, key string) error

	mu      sync.Mutex
	objects map[string]kept
	page    int // objects on a page of a list, 0 for all
	fail    int
	lose    bool
	log     []Request
}

type kept struct {
	content []byte
	header  http.Header
}

// Fail has it answer that many requests with 503.
func (s *Bucket) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = n
}

// Lose has it take the next upload and answer with 502.
func (s *Bucket) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = true
}

// Pages has lists end after that many objects.
func (s *Bucket) Pages(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// Object is the content of an object, nil for none.
func (s *Bucket) Object(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].content
}

// Put makes an object, or replaces it, without any headers.
func (s *Bucket) Put(key string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, content, nil)
}

// Keys are those of all objects.
func (s *Bucket) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Log is the requests since the last Log.
func (s *Bucket) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func (s *Bucket) put(key string, content []byte, header http.Header) {
	if s.objects == nil {
		s.objects = map[string]kept{}
	}
	s.objects[key] = kept{content, header}
}

// ServeHTTP implements http.Handler.
func (s *Bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	key := strings.TrimPrefix(r.URL.Path, "/")
	name, _, _ := strings.Cut(r.Host, ".")
	if host, _, err := net.SplitHostPort(r.Host); err == nil && net.ParseIP(host) != nil {
		name, key, _ = strings.Cut(key, "/")
	}
	s.log = append(s.log, Request{r.Header.Get("Authorization"), r.Method, key, r.Header})
	if err := s.verify(r, key); err != nil {
		s.refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", err.Error())
		return
	}
	o, there := s.objects[key]
	switch {
	case s.fail > 0:
		s.fail--
		s.refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "try again")
	case name != "states" && name != "states-1250000000":
		s.refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	case key == "" && r.Method == http.MethodGet:
		s.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("marker"))
	case r.Method == http.MethodPut:
		if there && r.Header.Get(s.vendor+"Forbid-Overwrite") == "true" {
			s.refuse(w, http.StatusConflict, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.")
			return
		}
		s.put(key, body, r.Header)
		if s.lose {
			s.lose = false
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("ETag", tagOf(body))
		w.Header().Set(s.vendor+"Hash-Crc64ecma", fmt.Sprint(crc64.Checksum(body, crc64.MakeTable(crc64.ECMA))))
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		s.refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		for name, values := range o.header {
			if strings.HasPrefix(name, s.vendor+"Meta-") {
				w.Header()[name] = values
			}
		}
		w.Header().Set("ETag", tagOf(o.content))
		w.Header().Set("Content-Length", fmt.Sprint(len(o.content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(o.content)
		}
	default:
		s.refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

func tagOf(content []byte) string { return fmt.Sprintf("%q", fmt.Sprintf("%X", md5.Sum(content))) }

func (s *Bucket) refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set(s.vendor+"Request-Id", "request")
	w.WriteHeader(status)
	content, _ := xml.Marshal(struct {
		XMLName                  xml.Name `xml:"Error"`
		Code, Message, RequestId string
	}{Code: code, Message: message, RequestId: "request"})
	_, _ = w.Write(content)
}

func (s *Bucket) list(w io.Writer, prefix, marker string) {
	type object struct{ Key string }
	var page struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		Name        string
		IsTruncated bool
		NextMarker  string
		Contents    []object
	}
	page.Name = "states"
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, prefix) || key <= marker && marker != "" {
			continue
		}
		if s.page > 0 && len(page.Contents) == s.page {
			page.IsTruncated, page.NextMarker = true, page.Contents[s.page-1].Key
			break
		}
		page.Contents = append(page.Contents, object{key})
	}
	_ = xml.NewEncoder(w).Encode(page)
}
