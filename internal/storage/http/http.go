// Package http keeps one state behind a REST address: GET, an update method,
// and two methods for the lock.
//
// It owns that protocol, its configuration and its retries. It refuses
// workspaces, which the protocol doesn't have.
package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/agent"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/origin"
	"weir.dev/weir/internal/patience"
	"weir.dev/weir/internal/schema"
	"weir.dev/weir/internal/storage"
)

// Type is the entry for registries.
var Type = storage.TypeOf(Schema, New)

// Schema is the shape of the configuration. What is left out comes from the
// environment: TF_HTTP_ and the name in capitals.
func Schema() *schema.Block {
	attribute := func(t cty.Type, description string) *schema.Attribute {
		return &schema.Attribute{Type: t, Optional: true, Description: description}
	}
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"address":                   attribute(cty.String, "The address of the state"),
		"update_method":             attribute(cty.String, "The HTTP method that updates the state, POST by default"),
		"lock_address":              attribute(cty.String, "The address of the lock; without it nothing is locked"),
		"lock_method":               attribute(cty.String, "The HTTP method that locks, LOCK by default"),
		"unlock_address":            attribute(cty.String, "The address that unlocks"),
		"unlock_method":             attribute(cty.String, "The HTTP method that unlocks, UNLOCK by default"),
		"username":                  attribute(cty.String, "The user for basic authentication"),
		"password":                  attribute(cty.String, "The password for basic authentication"),
		"skip_cert_verification":    attribute(cty.Bool, "Whether to trust any server certificate"),
		"retry_max":                 attribute(cty.Number, "How often a request is repeated, 2 by default"),
		"retry_wait_min":            attribute(cty.Number, "The shortest wait before a repetition in seconds, 1 by default"),
		"retry_wait_max":            attribute(cty.Number, "The longest wait before a repetition in seconds, 30 by default"),
		"client_ca_certificate_pem": attribute(cty.String, "The certificates of authorities to trust, as PEM"),
		"client_certificate_pem":    attribute(cty.String, "The certificate that identifies the client, as PEM"),
		"client_private_key_pem":    attribute(cty.String, "The private key for client_certificate_pem, as PEM"),
		"headers":                   attribute(cty.Map(cty.String), "Headers for every request"),
	}}
}

// A Backend is one state at an address.
type Backend struct {
	client client
}

// New makes a backend from a configuration of the type of Schema.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	c := &configuration{config: config, env: env}
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
	var err error
	if b.client.patience, err = patience.Limit(env.Getenv); err != nil {
		c.diags.Errorf("Invalid duration", "%s.", err)
	}
	if b.client.address == nil && !c.diags.HasErrors() {
		c.problem("address", "Missing required argument", "The backend needs the address of the state: set \"address\" or the environment variable TF_HTTP_ADDRESS.")
	}
	b.client.headers = c.headers(b.client.username != "")
	b.client.http = c.httpClient()
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return b, c.diags
}

// configuration reads attributes with their defaults and collects what is
// wrong with them.
type configuration struct {
	config cty.Value
	env    storage.Env
	diags  diag.List
}

const badConfig = "Invalid backend configuration"

func (c *configuration) problem(attribute, summary, format string, args ...any) {
	c.diags.Add(diag.Diagnostic{Summary: summary, Detail: fmt.Sprintf(format, args...), Path: cty.GetAttrPath(attribute)})
}

func (c *configuration) text(name, without string) string {
	if v := c.config.GetAttr(name); !v.IsNull() {
		return v.AsString()
	}
	if c.env.Getenv != nil {
		if text := c.env.Getenv("TF_HTTP_" + strings.ToUpper(name)); text != "" {
			return text
		}
	}
	return without
}

func (c *configuration) number(name string, without int) int {
	n := without
	var err error
	if v := c.config.GetAttr(name); !v.IsNull() {
		n, err = strconv.Atoi(v.AsBigFloat().Text('f', -1))
	} else if c.env.Getenv != nil {
		if text := c.env.Getenv("TF_HTTP_" + strings.ToUpper(name)); text != "" {
			n, err = strconv.Atoi(text)
		}
	}
	if err != nil || n < 0 {
		c.problem(name, badConfig, "%q must be a whole number that isn't negative.", name)
	}
	return n
}

func (c *configuration) url(name string) *url.URL {
	text := c.text(name, "")
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error repeats the address, which may have a password in it.
		c.problem(name, badConfig, "%q is not a URL.", name)
		return nil
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		c.problem(name, badConfig, "%q must be HTTP or HTTPS: it has to start with http:// or https://.", name)
	}
	return u
}

var (
	headerName  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	headerValue = regexp.MustCompile(`^[ -~\t]*[!-~][ -~\t]*$`)
)

func (c *configuration) headers(authenticated bool) map[string]string {
	v := c.config.GetAttr("headers")
	if v.IsNull() {
		return nil
	}
	headers := map[string]string{}
	for name, value := range v.AsValueMap() {
		switch lower := strings.ToLower(name); {
		case !headerName.MatchString(name):
			c.problem("headers", badConfig, "The name of header %q must not be empty and only contain A-Za-z0-9-_ characters.", name)
		case value.IsNull() || !headerValue.MatchString(value.AsString()):
			c.problem("headers", badConfig, "The value of header %q must not be empty and only contain ascii characters.", name)
		case lower == "authorization" && authenticated:
			c.problem("headers", badConfig, "The header %q cannot be set when providing username.", name)
		case lower == "content-type" || lower == "content-md5":
			c.problem("headers", badConfig, "The header %q is reserved.", name)
		default:
			headers[name] = value.AsString()
		}
	}
	slices.SortFunc(c.diags, func(a, b diag.Diagnostic) int { return strings.Compare(a.Detail, b.Detail) })
	return headers
}

func (c *configuration) httpClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	config := &tls.Config{}
	if v := c.config.GetAttr("skip_cert_verification"); !v.IsNull() && v.True() {
		config.InsecureSkipVerify = true
	}
	if pem := c.text("client_ca_certificate_pem", ""); pem != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			c.problem("client_ca_certificate_pem", badConfig, "%q has no certificate in PEM form.", "client_ca_certificate_pem")
		}
	}
	cert, key := c.text("client_certificate_pem", ""), c.text("client_private_key_pem", "")
	switch {
	case cert != "" && key == "":
		c.problem("client_private_key_pem", badConfig, "client_certificate_pem is set but client_private_key_pem is not")
	case key != "" && cert == "":
		c.problem("client_certificate_pem", badConfig, "client_private_key_pem is set but client_certificate_pem is not")
	case cert != "":
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			c.problem("client_certificate_pem", badConfig, "cannot load client certificate: %s", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport.TLSClientConfig = config
	return agent.Client(origin.Stay(&http.Client{Transport: transport}), agent.Name(c.env.Getenv))
}

// Workspaces fails: there are none.
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

// DeleteWorkspace fails: there are none.
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
