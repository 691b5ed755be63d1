package gcs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"weir.dev/weir/internal/net/httpcall"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// sealing is how the server encrypts states. The zero value leaves it to the
// bucket.
type sealing struct {
	kmsKey   string
	customer []byte // the key, nil without
}

func (s sealing) headers() http.Header {
	h := http.Header{}
	if s.customer != nil {
		sum := sha256.Sum256(s.customer)
		h.Set("X-Goog-Encryption-Algorithm", "AES256")
		h.Set("X-Goog-Encryption-Key", base64.StdEncoding.EncodeToString(s.customer))
		h.Set("X-Goog-Encryption-Key-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return h
}

func readSealing(r *backendconfig.Reader) sealing {
	s := sealing{kmsKey: r.Text("kms_encryption_key", "GOOGLE_KMS_ENCRYPTION_KEY")}
	text := r.Text("encryption_key", "GOOGLE_ENCRYPTION_KEY")
	if text == "" {
		return s
	}
	if s.kmsKey != "" {
		r.Problem("encryption_key", "Conflicting configuration arguments", `"encryption_key": conflicts with kms_encryption_key`)
	}
	content, err := contents(r, text)
	if err == nil {
		s.customer, err = base64.StdEncoding.DecodeString(strings.TrimSpace(content))
	}
	if err != nil {
		r.Problem("encryption_key", "Invalid backend configuration", "Error decoding encryption key: %s", err)
	}
	return s
}

// contents is a text, or the content of the file that it is the path of.
func contents(r *backendconfig.Reader, text string) (string, error) {
	name := text
	if rest, found := strings.CutPrefix(name, "~/"); found {
		name = filepath.Join(r.Getenv("HOME"), rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.Env.Dir, name)
	}
	content, err := os.ReadFile(name)
	var failed *os.PathError
	if errors.As(err, &failed) {
		if _, err := os.Lstat(name); err != nil {
			return text, nil
		}
	}
	return string(content), err
}

// access is how to reach the service: who asks, and where.
type access struct {
	base        *url.URL // ends with the version of the API
	token       string
	credentials []byte // JSON
	as          string // a service account
	delegates   []string
	iam         string // where tokens of service accounts are had
	open        bool   // to anybody, as emulators are
	patience    time.Duration
	transport   http.RoundTripper // nil for the usual one
	scope       string            // "" for that of storage
}

const publicDomain = "googleapis.com"

func readAccess(r *backendconfig.Reader) access {
	a := access{
		token:     r.Text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN"),
		as:        r.Text("impersonate_service_account", "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"),
		delegates: r.Texts("impersonate_service_account_delegates"),
	}
	domain := r.Text("universe_domain", "GOOGLE_BACKEND_UNIVERSE_DOMAIN", "GOOGLE_CLOUD_UNIVERSE_DOMAIN")
	if domain == "" {
		domain = publicDomain
	}
	a.iam = "https://iamcredentials." + domain
	address := r.Text("storage_custom_endpoint", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT")
	if emulator := r.Getenv("STORAGE_EMULATOR_HOST"); address == "" && emulator != "" {
		a.open = true
		if address = emulator; !strings.Contains(address, "://") {
			address = "http://" + address
		}
		address = strings.TrimSuffix(address, "/") + "/storage/v1/"
	}
	if address == "" {
		address = "https://storage." + domain + "/storage/v1/"
	}
	var err error
	if a.base, err = url.Parse(strings.TrimSuffix(address, "/")); err != nil || a.base.Host == "" {
		r.Problem("storage_custom_endpoint", "Invalid backend configuration", "The address of the service must be a URL such as https://storage.googleapis.com/storage/v1/.")
	}
	if a.token != "" {
		return a
	}
	// An empty argument is none.
	given := r.Text("credentials")
	for _, name := range []string{"GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"} {
		if given == "" {
			given = r.Getenv(name)
		}
	}
	if given != "" {
		content, err := contents(r, given)
		switch {
		case err != nil:
			r.Problem("credentials", "Invalid backend configuration", "Error loading credentials: %s", err)
		case !json.Valid([]byte(content)):
			r.Problem("credentials", "Invalid backend configuration", "the string provided in credentials is neither valid json nor a valid file path")
		}
		a.credentials = []byte(content)
	}
	return a
}

const (
	scopeStorage = "https://www.googleapis.com/auth/devstorage.read_write"
	scopeCloud   = "https://www.googleapis.com/auth/cloud-platform"
)

func (a *access) wanted() string {
	if a.scope == "" {
		return scopeStorage
	}
	return a.scope
}

// client is one whose requests have tokens.
func (a *access) client(ctx context.Context) (*http.Client, error) {
	if a.open {
		return &http.Client{Transport: a.transport}, nil
	}
	scope := a.wanted()
	if a.as != "" {
		scope = scopeCloud
	}
	fetches := &http.Client{Transport: a.transport}
	if a.transport == nil && a.patience > 0 { // requests for tokens have no context
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = stalltimeout.Beyond(a.patience)
		fetches.Transport = transport
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, sameorigin.Stay(fetches))
	tokens, err := a.tokens(ctx, scope)
	if err != nil {
		return nil, err
	}
	client := oauth2.NewClient(ctx, tokens)
	if a.as == "" {
		return client, nil
	}
	return oauth2.NewClient(ctx, oauth2.ReuseTokenSource(nil, &impersonation{access: a, http: client})), nil
}

// tokens are those of the credentials themselves.
func (a *access) tokens(ctx context.Context, scope string) (oauth2.TokenSource, error) {
	if a.token != "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: a.token}), nil
	}
	if a.credentials == nil {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, fmt.Errorf("no credentials were found: set credentials, access_token or GOOGLE_APPLICATION_CREDENTIALS, or log in with gcloud auth application-default login: %w", err)
		}
		return found.TokenSource, nil
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(a.credentials, &kind); err != nil {
		return nil, fmt.Errorf("the credentials can't be read: %w", err)
	}
	read, err := google.CredentialsFromJSONWithType(ctx, a.credentials, kind.Type, scope)
	if err != nil {
		return nil, fmt.Errorf("the credentials can't be used: %w", err)
	}
	return read.TokenSource, nil
}

// impersonation gets tokens of another service account.
type impersonation struct {
	*access
	http *http.Client
}

func (i *impersonation) Token() (*oauth2.Token, error) {
	name := func(account string) string { return "projects/-/serviceAccounts/" + account }
	ask := struct {
		Delegates []string `json:"delegates,omitempty"`
		Scope     []string `json:"scope"`
		Lifetime  string   `json:"lifetime"`
	}{Scope: []string{i.wanted()}, Lifetime: "3600s"}
	for _, d := range i.delegates {
		ask.Delegates = append(ask.Delegates, name(d))
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(i.iam + "/v1/" + name(url.PathEscape(i.as)) + ":generateAccessToken")
	if err != nil {
		return nil, err
	}
	c := httpcall.Client{HTTP: i.http, Stall: i.patience, Limit: 1 << 20}
	answer, err := c.Do(context.Background(), httpcall.Request{
		Method: http.MethodPost, URL: to, Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
	}, judge)
	var token struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	if err == nil {
		err = json.Unmarshal(answer.Body, &token)
	}
	if err != nil {
		return nil, fmt.Errorf("the service account %s can't be impersonated: %w", i.as, err)
	}
	return &oauth2.Token{AccessToken: token.AccessToken, Expiry: token.ExpireTime}, nil
}
