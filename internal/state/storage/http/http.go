// Package http stores one state at a REST address: GET, an update method, and two methods for
// the lock.
//
// It owns that protocol, its configuration and its retries. It rejects workspaces, which the
// protocol doesn't have.
package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Schema is the shape of the configuration. Anything that is left out comes from the
// environment: TF_HTTP_ and the name in capitals.
func Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"address":                   backendconfig.Optional(cty.String, "The address of the state"),
		"update_method":             backendconfig.Optional(cty.String, "The HTTP method that updates the state, POST by default"),
		"lock_address":              backendconfig.Optional(cty.String, "The address of the lock; without it nothing is locked"),
		"lock_method":               backendconfig.Optional(cty.String, "The HTTP method that locks, LOCK by default"),
		"unlock_address":            backendconfig.Optional(cty.String, "The address that unlocks"),
		"unlock_method":             backendconfig.Optional(cty.String, "The HTTP method that unlocks, UNLOCK by default"),
		"username":                  backendconfig.Optional(cty.String, "The user for basic authentication"),
		"password":                  backendconfig.Optional(cty.String, "The password for basic authentication"),
		"skip_cert_verification":    backendconfig.Optional(cty.Bool, "Whether to trust any server certificate"),
		"retry_max":                 backendconfig.Optional(cty.Number, "How often a request is repeated, 2 by default"),
		"retry_wait_min":            backendconfig.Optional(cty.Number, "The shortest wait before a repetition in seconds, 1 by default"),
		"retry_wait_max":            backendconfig.Optional(cty.Number, "The longest wait before a repetition in seconds, 30 by default"),
		"client_ca_certificate_pem": backendconfig.Optional(cty.String, "The certificates of authorities to trust, as PEM"),
		"client_certificate_pem":    backendconfig.Optional(cty.String, "The certificate that identifies the client, as PEM"),
		"client_private_key_pem":    backendconfig.Optional(cty.String, "The private key for client_certificate_pem, as PEM"),
		"headers":                   backendconfig.Optional(cty.Map(cty.String), "Headers for every request"),
	}}
}

// A Backend is one state at an address.
type Backend struct {
	client client
}

// New makes a backend from a configuration of the type of Schema.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	c := &configuration{&backendconfig.Reader{Config: config, Env: env}}
	b := &Backend{client{
		address:      c.url("address"),
		updateMethod: c.text("update_method", "POST"),
		lock:         c.url("lock_address"),
		lockMethod:   c.text("lock_method", "LOCK"),
		unlock:       c.url("unlock_address"),
		unlockMethod: c.text("unlock_method", "UNLOCK"),
		username:     c.text("username", ""),
		password:     c.text("password", ""),
		retryMax:     c.number("retry_max", 2),
		waitMin:      time.Duration(c.number("retry_wait_min", 1)) * time.Second,
		waitMax:      time.Duration(c.number("retry_wait_max", 30)) * time.Second,
	}}
	b.client.patience = c.Patience()
	if b.client.address == nil && !c.Diags.HasErrors() {
		c.Problem("address", "Missing required argument", "The backend needs the address of the state: set \"address\" or the environment variable TF_HTTP_ADDRESS.")
	}
	b.client.headers = c.headers(b.client.username != "")
	b.client.http = c.httpClient()
	if c.Diags.HasErrors() {
		return nil, c.Diags
	}
	return b, c.Diags
}

// configuration reads attributes with their defaults.
type configuration struct{ *backendconfig.Reader }

const badConfig = "Invalid backend configuration"

// variable stands in for an argument.
func variable(name string) string { return "TF_HTTP_" + strings.ToUpper(name) }

func (c *configuration) text(name, without string) string {
	return c.TextOr(without, name, variable(name))
}

func (c *configuration) number(name string, without int) int {
	return c.Int(name, without, variable(name))
}

func (c *configuration) url(name string) *url.URL {
	text := c.text(name, "")
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error repeats the address, which may have a password in it.
		c.Problem(name, badConfig, "%q is not a URL.", name)
		return nil
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		c.Problem(name, badConfig, "%q must be HTTP or HTTPS: it has to start with http:// or https://.", name)
	}
	return u
}

var (
	headerName  = lazyregexp.New(`^[A-Za-z0-9_-]+$`)
	headerValue = lazyregexp.New(`^[ -~\t]*[!-~][ -~\t]*$`)
)

func (c *configuration) headers(authenticated bool) map[string]string {
	v := c.Config.GetAttr("headers")
	if v.IsNull() {
		return nil
	}
	headers := map[string]string{}
	for name, value := range v.AsValueMap() {
		switch lower := strings.ToLower(name); {
		case !headerName.Get().MatchString(name):
			c.Problem("headers", badConfig, "The name of header %q must not be empty and only contain A-Za-z0-9-_ characters.", name)
		case value.IsNull() || !headerValue.Get().MatchString(value.AsString()):
			c.Problem("headers", badConfig, "The value of header %q must not be empty and only contain ascii characters.", name)
		case lower == "authorization" && authenticated:
			c.Problem("headers", badConfig, "The header %q cannot be set when providing username.", name)
		case lower == "content-type" || lower == "content-md5":
			c.Problem("headers", badConfig, "The header %q is reserved.", name)
		default:
			headers[name] = value.AsString()
		}
	}
	slices.SortFunc(c.Diags, func(a, b diag.Diagnostic) int { return strings.Compare(a.Detail, b.Detail) })
	return headers
}

func (c *configuration) httpClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	config := &tls.Config{}
	config.InsecureSkipVerify = c.Bool("skip_cert_verification") // #nosec G402 -- asked for
	if pem := c.text("client_ca_certificate_pem", ""); pem != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			c.Problem("client_ca_certificate_pem", badConfig, "%q has no certificate in PEM form.", "client_ca_certificate_pem")
		}
	}
	cert, key := c.text("client_certificate_pem", ""), c.text("client_private_key_pem", "")
	switch {
	case cert != "" && key == "":
		c.Problem("client_private_key_pem", badConfig, "client_certificate_pem is set but client_private_key_pem is not")
	case key != "" && cert == "":
		c.Problem("client_certificate_pem", badConfig, "client_private_key_pem is set but client_certificate_pem is not")
	case cert != "":
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			c.Problem("client_certificate_pem", badConfig, "cannot load client certificate: %s", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport.TLSClientConfig = config
	if c.Env.Transport != nil {
		return useragent.Client(&http.Client{Transport: c.Env.Transport}, useragent.Name(c.Env.Getenv))
	}
	return useragent.Client(sameorigin.Stay(&http.Client{Transport: transport}), useragent.Name(c.Env.Getenv))
}

// Workspaces fails: none exist.
func (b *Backend) Workspaces(context.Context) ([]string, error) {
	return nil, storage.ErrWorkspacesNotSupported
}

// CreateWorkspace fails except for the default workspace, which exists.
func (b *Backend) CreateWorkspace(_ context.Context, name string) error {
	if name == storage.DefaultWorkspace {
		return nil
	}
	return storage.ErrWorkspacesNotSupported
}

// DeleteWorkspace fails: none exist.
func (b *Backend) DeleteWorkspace(context.Context, string) error {
	return storage.ErrWorkspacesNotSupported
}

// Place is the address.
func (b *Backend) Place(string) string {
	address := *b.client.address
	address.User = nil
	return address.String()
}

// State opens the state.
func (b *Backend) State(name string) (storage.Store, error) {
	if name != storage.DefaultWorkspace {
		return nil, storage.ErrWorkspacesNotSupported
	}
	return &store{client: &b.client}, nil
}
