// Package ociregistry reads from OCI registries: the manifest of a tag, and content by digest,
// which it verifies.
//
// It owns the protocol, and how registries are asked for tokens. It doesn't know what
// artifacts mean, and where names and passwords are kept.
package ociregistry

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/net/sameorigin"
)

// A Login is who asks. The zero value is anybody.
type Login struct {
	User, Password string
	Token          string // a bearer token that is there already
	Refresh        string // what the registry exchanges for one
}

// A Repository is one at a registry, such as team/net at ghcr.io.
type Repository struct{ Registry, Name string }

func (r Repository) String() string { return r.Registry + "/" + r.Name }

// The forms of names.
var (
	repositoryName = lazyregexp.New(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagName        = lazyregexp.New(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	parameter      = lazyregexp.New(`([a-zA-Z]+)="([^"]*)"`)
)

// Check rejects names that no registry has.
func (r Repository) Check() error {
	switch {
	case r.Registry == "" || strings.ContainsAny(r.Registry, "/@?#"):
		return fmt.Errorf("%q isn't the host of a registry", r.Registry)
	case !repositoryName.Get().MatchString(r.Name):
		return fmt.Errorf("%q isn't the name of a repository: it has small letters, digits and - _ . between slashes", r.Name)
	}
	return nil
}

// CheckTag rejects tags that no registry has.
func CheckTag(tag string) error {
	if !tagName.Get().MatchString(tag) {
		return fmt.Errorf("%q isn't a tag: it has up to 128 letters, digits and _ . -", tag)
	}
	return nil
}

// A Client reads from registries. The zero value isn't usable: it needs HTTP.
type Client struct {
	HTTP  *http.Client
	Login func(ctx context.Context, from Repository) (Login, error) // nil for anybody

	mu     sync.Mutex
	tokens map[Repository]string // the header that is sent
}

// A Refusal is an answer that means no.
type Refusal struct {
	Status  int
	Message string
	Codes   []string // those of the protocol, such as NAME_UNKNOWN
}

// Unknown reports whether a refusal is that there is no such repository.
func (r *Refusal) Unknown() bool {
	if len(r.Codes) == 0 {
		return r.Status == http.StatusNotFound
	}
	return slices.Contains(r.Codes, "NAME_UNKNOWN") || slices.Contains(r.Codes, "NAME_INVALID")
}

func (r *Refusal) Error() string { return r.Message }

// maxManifest is the largest manifest, which registries needn't take more of either.
const maxManifest = 4 << 20

// Tags lists those of a repository, in any order.
func (c *Client) Tags(ctx context.Context, from Repository) ([]string, error) {
	var all []string
	for path := "tags/list"; ; {
		response, err := c.get(ctx, from, path, "")
		if err != nil {
			return nil, err
		}
		var page struct{ Tags []string }
		err = json.NewDecoder(io.LimitReader(response.Body, maxManifest)).Decode(&page)
		response.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("the tags of %s can't be read: %w", from, err)
		}
		all = append(all, page.Tags...)
		last := after(response.Header.Get("Link"))
		if last == "" || len(page.Tags) == 0 {
			return all, nil
		}
		path = "tags/list?" + last
	}
}

// after is the query of the page that a Link leads to, "" for no further one.
func after(link string) string {
	target, rest, found := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	next, err := url.Parse(target)
	if !found || err != nil || !strings.Contains(rest, "next") {
		return ""
	}
	return next.Query().Encode()
}

// Manifest reads what a tag or a digest names, with its digest. It has to be one of the media
// type.
func (c *Client) Manifest(ctx context.Context, from Repository, reference, mediaType string) (content []byte, digest string, err error) {
	response, err := c.get(ctx, from, "manifests/"+reference, mediaType)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(io.LimitReader(response.Body, maxManifest+1))
	switch {
	case err != nil:
		return nil, "", err
	case len(content) > maxManifest:
		return nil, "", fmt.Errorf("the manifest of %s is larger than 4 MiB", from)
	}
	if got := response.Header.Get("Content-Type"); got != mediaType {
		return nil, "", fmt.Errorf("%s has no manifest of the type %s under that name, but %q", from, mediaType, got)
	}
	if digest = reference; !strings.Contains(reference, ":") {
		digest = response.Header.Get("Docker-Content-Digest")
	}
	if digest == "" {
		sum := sha256.Sum256(content)
		digest = "sha256:" + hex.EncodeToString(sum[:])
	}
	check, err := newSum(digest)
	if err != nil {
		return nil, "", err
	}
	check.Write(content)
	return content, digest, check.verify()
}

// Blob writes the content behind a digest, which is that large. Anything that was written
// counts only without an error.
func (c *Client) Blob(ctx context.Context, from Repository, digest string, size int64, to io.Writer) error {
	check, err := newSum(digest)
	if err != nil {
		return err
	}
	response, err := c.get(ctx, from, "blobs/"+digest, "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.MultiWriter(to, check), io.LimitReader(response.Body, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("%s of %s hasn't the size of %d bytes", digest, from, size)
	}
	return errors.Join(err, check.verify())
}

// A sum holds content to a digest.
type sum struct {
	hash.Hash
	want string
}

func newSum(digest string) (*sum, error) {
	kind, text, _ := strings.Cut(digest, ":")
	var h hash.Hash
	switch kind {
	case "sha256":
		h = sha256.New()
	case "sha512":
		h = sha512.New()
	default:
		return nil, fmt.Errorf("the digest %q isn't one of the kinds sha256 and sha512", digest)
	}
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != h.Size() || strings.ToLower(text) != text {
		return nil, fmt.Errorf("%q isn't a digest", digest)
	}
	return &sum{h, digest}, nil
}

// CheckDigest rejects what isn't a digest.
func CheckDigest(digest string) error {
	_, err := newSum(digest)
	return err
}

func (s *sum) verify() error {
	kind, _, _ := strings.Cut(s.want, ":")
	if got := kind + ":" + hex.EncodeToString(s.Sum(nil)); got != s.want {
		return fmt.Errorf("the registry sent something that has the digest %s instead of %s: it was damaged or replaced", got, s.want)
	}
	return nil
}

// host is where a registry is: that of Docker has another name in references.
func host(registry string) string {
	if registry == "docker.io" {
		return "registry-1.docker.io"
	}
	return registry
}

// get makes a request, and again with a token if one is requested.
func (c *Client) get(ctx context.Context, from Repository, path, accept string) (*http.Response, error) {
	path, query, _ := strings.Cut(path, "?")
	at := &url.URL{Scheme: "https", Host: host(from.Registry), Path: "/v2/" + from.Name + "/" + path, RawQuery: query}
	for again := false; ; again = true {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, err
		}
		if accept != "" {
			request.Header.Set("Accept", accept)
		}
		c.mu.Lock()
		token := c.tokens[from]
		c.mu.Unlock()
		if token != "" {
			request.Header.Set("Authorization", token)
		}
		response, err := sameorigin.Follow(c.HTTP).Do(request)
		if err != nil {
			return nil, err
		}
		switch {
		case response.StatusCode == http.StatusOK:
			return response, nil
		case response.StatusCode == http.StatusUnauthorized && !again:
			response.Body.Close()
			if err := c.authorize(ctx, from, response.Header.Values("WWW-Authenticate")); err != nil {
				return nil, err
			}
			continue
		}
		defer response.Body.Close()
		return nil, refused(from, response)
	}
}

func refused(from Repository, response *http.Response) error {
	content, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	var told struct {
		Errors []struct{ Code, Message string }
	}
	_ = json.Unmarshal(content, &told) // those of proxies aren't JSON
	text := response.Status
	var codes []string
	for _, e := range told.Errors {
		text += ": " + e.Message
		codes = append(codes, e.Code)
	}
	return &Refusal{response.StatusCode, fmt.Sprintf("the registry answers for %s: %s", from, text), codes}
}

// authorize finds what to send with requests, by what the registry asks for.
func (c *Client) authorize(ctx context.Context, from Repository, asked []string) error {
	var login Login
	if c.Login != nil {
		var err error
		if login, err = c.Login(ctx, from); err != nil {
			return err
		}
	}
	header := ""
	for _, challenge := range asked {
		scheme, rest, _ := strings.Cut(challenge, " ")
		switch {
		case strings.EqualFold(scheme, "Bearer") && login.Token != "":
			header = "Bearer " + login.Token
		case strings.EqualFold(scheme, "Bearer"):
			told := map[string]string{}
			for _, m := range parameter.Get().FindAllStringSubmatch(rest, -1) {
				told[strings.ToLower(m[1])] = m[2]
			}
			token, err := c.token(ctx, from, told, login)
			if err != nil {
				return err
			}
			header = "Bearer " + token
		case strings.EqualFold(scheme, "Basic") && login.User != "" && header == "":
			request := http.Request{Header: http.Header{}}
			request.SetBasicAuth(login.User, login.Password)
			header = request.Header.Get("Authorization")
		}
	}
	if header == "" {
		return &Refusal{Status: http.StatusUnauthorized, Message: fmt.Sprintf("the registry asks for credentials for %s, and accepts none of the known ones", from)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tokens == nil {
		c.tokens = map[Repository]string{}
	}
	c.tokens[from] = header
	return nil
}

// token has the service that the registry names make a token for reading.
func (c *Client) token(ctx context.Context, from Repository, told map[string]string, login Login) (string, error) {
	realm, err := url.Parse(told["realm"])
	if err != nil || realm.Host == "" || realm.Scheme != "https" {
		return "", fmt.Errorf("the registry of %s names no address for tokens that can be used: %q", from, told["realm"])
	}
	scope := told["scope"]
	if scope == "" {
		scope = "repository:" + from.Name + ":pull"
	}
	query := realm.Query()
	query.Set("scope", scope)
	if service := told["service"]; service != "" {
		query.Set("service", service)
	}
	method, body := http.MethodGet, io.Reader(nil)
	if login.Refresh != "" {
		query.Set("grant_type", "refresh_token")
		query.Set("refresh_token", login.Refresh)
		query.Set("client_id", "weir")
		method, body = http.MethodPost, strings.NewReader(query.Encode())
	} else {
		realm.RawQuery = query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, realm.String(), body)
	if err != nil {
		return "", err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if login.User != "" {
		request.SetBasicAuth(login.User, login.Password)
	}
	response, err := sameorigin.Follow(c.HTTP).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", refused(from, response)
	}
	var made struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&made); err != nil {
		return "", fmt.Errorf("the token for %s can't be read: %w", from, err)
	}
	if made.Token == "" {
		made.Token = made.Access
	}
	if made.Token == "" {
		return "", fmt.Errorf("%s gave no token for %s", realm.Host, from)
	}
	return made.Token, nil
}
