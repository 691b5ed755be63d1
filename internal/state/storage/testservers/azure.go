package testservers

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Azure keeps the blobs of a container named states as Azure Storage does, as far as backends
// ask, whatever the account. It also makes tokens and reports access keys. The zero value is
// ready.
type Azure struct {
	// Endpoint is the address of the account's blobs, as the resource manager has it.
	Endpoint string

	mu    sync.Mutex
	blobs map[string]*blob
	count int // of changes, for tags
	log   []Request
	lose  int
}

type blob struct {
	content   []byte
	tag       string
	lease     string
	metadata  http.Header
	kind      string
	snapshots int
}

// AzureKey is the access key that it reports.
const AzureKey = "a2V5"

// Lose has it take the next blob and not answer.
func (s *Azure) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = 1
}

// Blob is the content of a blob, nil for none, and how many snapshots of it there are.
func (s *Azure) Blob(name string) (content []byte, snapshots int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blobs[name]
	if b == nil {
		return nil, 0
	}
	return b.content, b.snapshots
}

// Log is the requests since the last Log.
func (s *Azure) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// ServeHTTP implements http.Handler.
func (s *Azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := bodyOf(r)
	path := unescaped(r.URL.EscapedPath())
	s.log = append(s.log, Request{r.Header.Get("Authorization"), r.Method, path, r.Header})
	name, isBlob := strings.CutPrefix(path, "/states/")
	switch {
	case r.Host == "login.microsoftonline.com":
		s.login(w, r)
	case r.Host == "management.azure.com" && r.Method == http.MethodGet && strings.HasSuffix(path, "/Microsoft.Storage/storageAccounts/account"):
		fmt.Fprintf(w, `{"name":"account","properties":{"primaryEndpoints":{"blob":%q}}}`, s.Endpoint)
	case strings.HasSuffix(path, "/listKeys"):
		fmt.Fprintf(w, `{"keys":[{"keyName":"key1","value":%q}]}`, AzureKey)
	case path == "/states" && r.URL.Query().Get("comp") == "list":
		s.list(w, r.URL.Query().Get("prefix"))
	case isBlob:
		s.one(w, r, name, body)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *Azure) login(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const authority = "https://login.microsoftonline.com/"
	switch {
	case strings.Contains(r.URL.Path, "/discovery/instance"):
		fmt.Fprint(w, `{"tenant_discovery_endpoint":"`+authority+`tenant/v2.0/.well-known/openid-configuration","metadata":[{"preferred_network":"login.microsoftonline.com","preferred_cache":"login.microsoftonline.com","aliases":["login.microsoftonline.com"]}]}`)
	case strings.HasSuffix(r.URL.Path, "openid-configuration"):
		fmt.Fprint(w, `{"issuer":"`+authority+`tenant/v2.0","authorization_endpoint":"`+authority+`tenant/oauth2/v2.0/authorize","token_endpoint":"`+authority+`tenant/oauth2/v2.0/token"}`)
	default:
		fmt.Fprint(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"token"}`)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Ms-Error-Code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code></Error>`, code)
}

// stands reports whether the conditions of a request hold, and says so if not.
func stands(w http.ResponseWriter, r *http.Request, b *blob, writes bool) bool {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	lease := r.Header.Get("X-Ms-Lease-Id")
	switch {
	case none == "*" && b != nil:
		refuse(w, http.StatusConflict, "BlobAlreadyExists")
	case match != "" && (b == nil || b.tag != match):
		refuse(w, http.StatusPreconditionFailed, "ConditionNotMet")
	case lease != "" && (b == nil || b.lease == ""):
		refuse(w, http.StatusPreconditionFailed, "LeaseNotPresentWithBlobOperation")
	case lease != "" && b.lease != lease:
		refuse(w, http.StatusPreconditionFailed, "LeaseIdMismatchWithBlobOperation")
	case writes && b != nil && b.lease != "" && lease == "":
		refuse(w, http.StatusPreconditionFailed, "LeaseIdMissing")
	default:
		return true
	}
	return false
}

func (s *Azure) one(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	b, there := s.blobs[name]
	part := r.URL.Query().Get("comp")
	if !there && (r.Method != http.MethodPut || part != "") {
		refuse(w, http.StatusNotFound, "BlobNotFound")
		return
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		if stands(w, r, b, false) {
			b.show(w, r.Method == http.MethodGet)
		}
	case part == "lease":
		s.lease(w, r, b)
	case !stands(w, r, b, part != "snapshot"):
	case r.Method == http.MethodDelete:
		if b.snapshots > 0 && r.Header.Get("X-Ms-Delete-Snapshots") == "" {
			refuse(w, http.StatusConflict, "SnapshotsPresent")
			return
		}
		delete(s.blobs, name)
		w.WriteHeader(http.StatusAccepted)
	case part == "snapshot":
		b.snapshots++
		w.WriteHeader(http.StatusCreated)
	case part == "metadata":
		b.metadata = metadata(r.Header)
		s.touch(w, b)
		w.WriteHeader(http.StatusOK)
	case part == "":
		if b == nil {
			b = &blob{}
		}
		b.content, b.metadata, b.kind = body, metadata(r.Header), r.Header.Get("X-Ms-Blob-Type")
		if s.blobs == nil {
			s.blobs = map[string]*blob{}
		}
		s.blobs[name] = b
		s.touch(w, b)
		if s.lose > 0 {
			s.lose--
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *Azure) touch(w http.ResponseWriter, b *blob) {
	s.count++
	b.tag = fmt.Sprintf("%q", fmt.Sprintf("0x%X", s.count))
	w.Header().Set("Etag", b.tag)
}

func metadata(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "X-Ms-Meta-") {
			kept[name] = values
		}
	}
	return kept
}

func (b *blob) show(w http.ResponseWriter, content bool) {
	maps.Copy(w.Header(), b.metadata)
	w.Header().Set("Etag", b.tag)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Ms-Blob-Type", b.kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(b.content)))
	sum := md5.Sum(b.content)
	w.Header().Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
	status := "unlocked"
	if b.lease != "" {
		status = "locked"
	}
	w.Header().Set("X-Ms-Lease-Status", status)
	if content {
		_, _ = w.Write(b.content)
	}
}

func (s *Azure) lease(w http.ResponseWriter, r *http.Request, b *blob) {
	switch r.Header.Get("X-Ms-Lease-Action") {
	case "acquire":
		id := r.Header.Get("X-Ms-Proposed-Lease-Id")
		if b.lease != "" && b.lease != id {
			refuse(w, http.StatusConflict, "LeaseAlreadyPresent")
			return
		}
		b.lease = id
		w.Header().Set("X-Ms-Lease-Id", id)
		w.WriteHeader(http.StatusCreated)
	case "release":
		if b.lease != r.Header.Get("X-Ms-Lease-Id") {
			refuse(w, http.StatusConflict, "LeaseIdMismatchWithLeaseOperation")
			return
		}
		b.lease = ""
		w.WriteHeader(http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func (s *Azure) list(w io.Writer, prefix string) {
	type item struct {
		Name string
	}
	var page struct {
		XMLName xml.Name `xml:"EnumerationResults"`
		Blobs   []item   `xml:"Blobs>Blob"`
	}
	for _, name := range slices.Sorted(maps.Keys(s.blobs)) {
		if strings.HasPrefix(name, prefix) {
			page.Blobs = append(page.Blobs, item{name})
		}
	}
	_ = xml.NewEncoder(w).Encode(page)
}
