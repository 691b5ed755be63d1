package azurerm

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage"
)

// A service is a container as the REST API has it.
type service struct {
	pipeline  runtime.Pipeline // signs and repeats requests
	container string           // its address, with the signature that is part of addresses
	sealing   sealing
	timeout   time.Duration
	// patience is how long nothing may come or go before a request has failed.
	patience time.Duration
}

const (
	version  = "2023-11-03" // of the REST API
	maxState = 4 << 30
)

// The service's reason.
const (
	noBlob       = "BlobNotFound"
	thereIsOne   = "BlobAlreadyExists"
	anotherTag   = "ConditionNotMet"
	leaseHeld    = "LeaseAlreadyPresent"
	leaseMissing = "LeaseIdMissing"
)

func answer(err error) (status int, code string) {
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		return refused.StatusCode, refused.ErrorCode
	}
	return 0, ""
}

func code(err error) string { _, code := answer(err); return code }

// missing reports whether there is no such blob. Requests for properties are answered
// without a code.
func missing(err error) bool {
	status, code := answer(err)
	return status == http.StatusNotFound && (code == "" || code == noBlob)
}

// changed reports whether the blob was another one than a request said.
func changed(err error) bool {
	status, code := answer(err)
	return code == anotherTag || code == thereIsOne || code == "" && status == http.StatusPreconditionFailed
}

// A refusal is what the SDK says of an answer, in a line.
type refusal struct{ *azcore.ResponseError }

func (r refusal) Unwrap() error { return r.ResponseError }

func (r refusal) Error() string {
	said := http.StatusText(r.StatusCode)
	if r.ErrorCode != "" {
		said = r.ErrorCode
	}
	return fmt.Sprintf("the service answered %d %s", r.StatusCode, said)
}

// address is that of a blob, "" for the container.
func (s *service) address(blob string, query url.Values) string {
	base, signature, _ := strings.Cut(s.container, "?")
	if blob != "" {
		base += "/" + (&url.URL{Path: blob}).EscapedPath()
	}
	all := []string{}
	if text := query.Encode(); text != "" {
		all = append(all, text)
	}
	if signature != "" && query != nil {
		all = append(all, signature)
	}
	if len(all) > 0 {
		base += "?" + strings.Join(all, "&")
	}
	return base
}

// do sends a request.
func (s *service) do(ctx context.Context, method, blob string, query url.Values, header http.Header, body []byte, want int) (http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if query == nil {
		query = url.Values{}
	}
	var pulse stalltimeout.Pulse
	ctx, end := pulse.Watch(ctx, strings.TrimPrefix(strings.SplitN(s.container, "?", 2)[0], "https://"), s.patience)
	defer end()
	request, err := runtime.NewRequest(ctx, method, s.address(blob, query))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(request.Raw().Header, header)
	request.Raw().Header.Set("X-Ms-Version", version)
	if body != nil {
		if err := request.SetBody(streaming.NopCloser(beating{bytes.NewReader(body), &pulse}), "application/json"); err != nil {
			return nil, nil, err
		}
	}
	runtime.SkipBodyDownload(request)
	response, err := s.pipeline.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s: %w", request.Raw().URL.Host, failed.Err) // the address may have a signature in it
	}
	if err != nil {
		return nil, nil, stalltimeout.Because(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		err := runtime.NewResponseError(response)
		var refused *azcore.ResponseError
		if errors.As(err, &refused) {
			return nil, nil, refusal{refused}
		}
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(pulse.Reader(response.Body), maxState))
	return response.Header, content, stalltimeout.Because(ctx, err)
}

// beating is a body that can be sent again.
type beating struct {
	io.ReadSeeker
	pulse *stalltimeout.Pulse
}

func (b beating) Read(into []byte) (int, error) {
	n, err := b.ReadSeeker.Read(into)
	b.pulse.Beat()
	return n, err
}

// An entry is what the service says of a blob beside its content.
type entry struct {
	tag      string // "" for none
	metadata map[string]string
	leased   bool
}

func read(h http.Header) entry {
	e := entry{tag: h.Get("Etag"), metadata: map[string]string{}, leased: h.Get("X-Ms-Lease-Status") == "locked"}
	for name := range h {
		if key, found := strings.CutPrefix(strings.ToLower(name), metadataPrefix); found {
			e.metadata[key] = h.Get(name)
		}
	}
	return e
}

const (
	metadataPrefix = "x-ms-meta-"
	holderKey      = "terraformlockid"
)

// holder is who holds the lock, as they say in the metadata.
func (e entry) holder() (*storage.LockInfo, error) {
	text := e.metadata[holderKey]
	if text == "" {
		return nil, fmt.Errorf("blob metadata %q was empty", holderKey)
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("blob metadata %q isn't base64: %w", holderKey, err)
	}
	return storage.ParseLockInfo(decoded)
}

// headers are those of a request about a blob of which e is known.
func (s *service) headers(e *entry, lease string, writes bool) http.Header {
	h := http.Header{}
	if k := s.sealing.customer; k != nil {
		sum := sha256.Sum256(k)
		h.Set("X-Ms-Encryption-Key", base64.StdEncoding.EncodeToString(k))
		h.Set("X-Ms-Encryption-Key-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
		h.Set("X-Ms-Encryption-Algorithm", "AES256")
	}
	if s.sealing.scope != "" && writes {
		h.Set("X-Ms-Encryption-Scope", s.sealing.scope)
	}
	if lease != "" {
		h.Set("X-Ms-Lease-Id", lease)
	}
	if e == nil {
		return h
	}
	if e.tag == "" {
		h.Set("If-None-Match", "*")
	} else {
		h.Set("If-Match", e.tag)
	}
	for key, value := range e.metadata {
		h.Set(metadataPrefix+key, value)
	}
	return h
}

func (s *service) get(ctx context.Context, blob string) ([]byte, entry, error) {
	h, content, err := s.do(ctx, http.MethodGet, blob, nil, s.headers(nil, "", false), nil, http.StatusOK)
	return content, read(h), err
}

func (s *service) properties(ctx context.Context, blob string) (entry, error) {
	h, _, err := s.do(ctx, http.MethodHead, blob, nil, s.headers(nil, "", false), nil, http.StatusOK)
	return read(h), err
}

// put replaces a blob as it is known, and returns its tag.
func (s *service) put(ctx context.Context, blob string, content []byte, replaces entry, lease string) (tag string, err error) {
	h := s.headers(&replaces, lease, true)
	h.Set("X-Ms-Blob-Type", "BlockBlob")
	h, _, err = s.do(ctx, http.MethodPut, blob, nil, h, content, http.StatusCreated)
	return h.Get("Etag"), err
}

// set writes a blob whatever is there.
func (s *service) set(ctx context.Context, blob string, content []byte) error {
	h := s.headers(nil, "", true)
	h.Set("X-Ms-Blob-Type", "BlockBlob")
	_, _, err := s.do(ctx, http.MethodPut, blob, nil, h, content, http.StatusCreated)
	return err
}

// make makes a blob without a state, unless it is there.
func (s *service) make(ctx context.Context, blob string) error {
	_, err := s.put(ctx, blob, []byte(storage.NoState), entry{}, "")
	if changed(err) {
		return nil
	}
	return err
}

func (s *service) snapshot(ctx context.Context, blob, lease string) error {
	_, _, err := s.do(ctx, http.MethodPut, blob, url.Values{"comp": {"snapshot"}}, s.headers(nil, lease, true), nil, http.StatusCreated)
	return err
}

// describe replaces the metadata of a blob as it is known otherwise, and returns its tag.
func (s *service) describe(ctx context.Context, blob string, as entry, lease string) (tag string, err error) {
	h, _, err := s.do(ctx, http.MethodPut, blob, url.Values{"comp": {"metadata"}}, s.headers(&as, lease, true), nil, http.StatusOK)
	return h.Get("Etag"), err
}

// lease takes the lease with that id. The same may do so again.
func (s *service) lease(ctx context.Context, blob, id string) error {
	h := http.Header{}
	h.Set("X-Ms-Lease-Action", "acquire")
	h.Set("X-Ms-Lease-Duration", "-1")
	h.Set("X-Ms-Proposed-Lease-Id", id)
	_, _, err := s.do(ctx, http.MethodPut, blob, url.Values{"comp": {"lease"}}, h, nil, http.StatusCreated)
	return err
}

func (s *service) release(ctx context.Context, blob, id string) error {
	h := http.Header{}
	h.Set("X-Ms-Lease-Action", "release")
	h.Set("X-Ms-Lease-Id", id)
	_, _, err := s.do(ctx, http.MethodPut, blob, url.Values{"comp": {"lease"}}, h, nil, http.StatusOK)
	return err
}

// remove removes a blob and its snapshots, without which it would stay.
func (s *service) remove(ctx context.Context, blob string) error {
	_, _, err := s.do(ctx, http.MethodDelete, blob, nil, http.Header{"X-Ms-Delete-Snapshots": {"include"}}, nil, http.StatusAccepted)
	return err
}

// list names the blobs that begin with a prefix.
func (s *service) list(ctx context.Context, prefix string) (names []string, err error) {
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}}
	for {
		_, content, err := s.do(ctx, http.MethodGet, "", query, http.Header{}, nil, http.StatusOK)
		if err != nil {
			return nil, err
		}
		var page struct {
			Names []string `xml:"Blobs>Blob>Name"`
			Next  string   `xml:"NextMarker"`
		}
		if err := xml.Unmarshal(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), &page); err != nil {
			return nil, fmt.Errorf("the list of blobs can't be read: %w", err)
		}
		names = append(names, page.Names...)
		if page.Next == "" {
			return names, nil
		}
		query.Set("marker", page.Next)
	}
}

// sharedKey signs requests with an access key of the account.
type sharedKey struct {
	account string
	key     []byte
}

// Do implements policy.Policy.
func (k *sharedKey) Do(request *policy.Request) (*http.Response, error) {
	r := request.Raw()
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(k.text(r)))
	r.Header.Set("Authorization", "SharedKey "+k.account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return request.Next()
}

// text is what is signed: "Authorize with Shared Key" in the documentation of the REST API.
func (k *sharedKey) text(r *http.Request) string {
	h := r.Header
	size := ""
	if r.ContentLength > 0 {
		size = strconv.FormatInt(r.ContentLength, 10)
	}
	lines := []string{
		r.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), size, h.Get("Content-Md5"), h.Get("Content-Type"),
		"", h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range"),
	}
	own := map[string]string{}
	for name := range h {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-ms-") {
			own[lower] = strings.TrimSpace(h.Get(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		lines = append(lines, name+":"+own[name])
	}
	resource := "/" + k.account + r.URL.EscapedPath()
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := slices.Sorted(slices.Values(query[name]))
		resource += "\n" + strings.ToLower(name) + ":" + strings.Join(values, ",")
	}
	return strings.Join(append(lines, resource), "\n")
}
