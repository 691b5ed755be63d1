// Package consul stores states as keys of Consul, one for each workspace, in the layout and
// with the locks of OpenTofu and Terraform. A session holds a key beside the state, and
// another key names the holder.
//
// It owns these, large states in pieces, and the session, which ends by itself when nobody
// renews it. It doesn't look into the states, or connect before anything is asked.
package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/rest"
)

// Schema is the shape of the configuration. Most of what is left out comes from the
// environment: CONSUL_HTTP_ADDR and the other variables of Consul's own programs.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return backendconfig.Optional(cty.String, description) }
	token := text("The access token")
	token.Sensitive = true
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"path":         {Type: cty.String, Required: true, Description: "The key of the state"},
		"access_token": token,
		"address":      text("The address of the agent, 127.0.0.1:8500 by default"),
		"scheme":       text("How the agent is reached: http or https"),
		"datacenter":   text("The datacenter, that of the agent by default"),
		"http_auth":    text("User and password for basic authentication, as user:password"),
		"gzip":         backendconfig.Optional(cty.Bool, "Whether states are compressed"),
		"lock":         backendconfig.Optional(cty.Bool, "Whether states are locked, true by default"),
		"ca_file":      text("A file with certificates of authorities to trust"),
		"cert_file":    text("A file with the certificate of the client"),
		"key_file":     text("A file with the key of cert_file"),
	}}
}

// A Backend is the states that begin with a path.
type Backend struct {
	kv       kv
	path     string
	compress bool
	locks    bool
}

// New makes a backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{path: r.Text("path"), compress: r.Bool("gzip"), locks: r.BoolOr(true, "lock")}
	if strings.Trim(b.path, "/") == "" {
		r.Problem("path", "Invalid backend configuration", `The "path" attribute value must not be empty.`)
	}
	b.kv.client = rest.Client{Base: address(r), Header: http.Header{}, HTTP: client(r), Patience: r.Patience()}
	token := r.Text("access_token")
	if file := r.Getenv("CONSUL_HTTP_TOKEN_FILE"); token == "" && file != "" {
		token = strings.TrimSpace(string(readFile(r, "access_token", file)))
	}
	if token == "" {
		token = r.Getenv("CONSUL_HTTP_TOKEN")
	}
	if token != "" {
		b.kv.client.Header.Set("X-Consul-Token", token)
	}
	if user, password, _ := strings.Cut(r.TextOr(r.Getenv("CONSUL_HTTP_AUTH"), "http_auth"), ":"); user != "" {
		request := http.Request{Header: b.kv.client.Header}
		request.SetBasicAuth(user, password)
	}
	b.kv.where = url.Values{}
	for name, text := range map[string]string{"dc": r.Text("datacenter"), "ns": r.Getenv("CONSUL_NAMESPACE"), "partition": r.Getenv("CONSUL_PARTITION")} {
		if text != "" {
			b.kv.where.Set(name, text)
		}
	}
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// address is that of the agent.
func address(r *backendconfig.Reader) url.URL {
	given := r.Text("address")
	if given == "" {
		given = r.Getenv("CONSUL_HTTP_ADDR")
	}
	if given == "" {
		given = "127.0.0.1:8500"
	}
	scheme := "http"
	if on, err := strconv.ParseBool(r.Getenv("CONSUL_HTTP_SSL")); err == nil && on {
		scheme = "https"
	}
	if before, rest, found := strings.Cut(given, "://"); found {
		scheme, given = before, rest
	}
	if text := r.Text("scheme"); text != "" && scheme != "unix" {
		scheme = text
	}
	if scheme == "unix" {
		return url.URL{Scheme: "http", Host: socketHost}
	}
	host, path, _ := strings.Cut(given, "/")
	if scheme != "http" && scheme != "https" || host == "" {
		r.Problem("address", "Invalid backend configuration", "The address of the agent is a host and a port, such as consul.example.com:8500, and scheme is http or https.")
	}
	at := url.URL{Scheme: scheme, Host: host}
	if path = strings.TrimRight(path, "/"); path != "" {
		at.Path = "/" + path
	}
	return at
}

// socketHost stands for a socket in addresses.
const socketHost = "consul.socket"

func client(r *backendconfig.Reader) *http.Client {
	file := func(name string, variables ...string) []byte {
		if at := r.Text(name, variables...); at != "" {
			return readFile(r, name, at)
		}
		return nil
	}
	trust := rest.Trust{
		Authorities: file("ca_file", "CONSUL_CACERT"),
		Certificate: file("cert_file", "CONSUL_CLIENT_CERT"),
		Key:         file("key_file", "CONSUL_CLIENT_KEY"),
		ServerName:  r.Getenv("CONSUL_TLS_SERVER_NAME"),
	}
	if on, err := strconv.ParseBool(r.Getenv("CONSUL_HTTP_SSL_VERIFY")); err == nil {
		trust.Anybody = !on
	}
	transport, err := trust.Transport()
	if err != nil {
		r.Problem("", "Invalid backend configuration", "The files of ca_file, cert_file and key_file can't be used: %s.", err)
		return nil
	}
	if socket, found := strings.CutPrefix(r.Text("address", "CONSUL_HTTP_ADDR"), "unix://"); found {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}
	}
	return useragent.Client(&http.Client{Transport: transport}, useragent.Name(r.Getenv))
}

// readFile is the content of a file that an argument names.
func readFile(r *backendconfig.Reader, name, file string) []byte {
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.Env.Dir, file)
	}
	read, err := os.ReadFile(file)
	if err != nil {
		r.Problem(name, "Invalid backend configuration", "The file can't be read: %s.", diag.Cause(err))
	}
	return read
}

// between stands between the path and the name of a workspace.
const between = "-env:"

// key is that of the state of a workspace.
func (b *Backend) key(name string) string {
	if name == storage.DefaultWorkspace {
		return b.path
	}
	return b.path + between + name
}

// Workspaces lists the keys.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	keys, err := b.kv.keys(ctx, b.path+between)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, key := range keys {
		name, found := strings.CutPrefix(key, b.path+between)
		if found && name != "" && name != storage.DefaultWorkspace && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, slices.Compact(names)...), nil
}

// CreateWorkspace makes the key of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("a workspace needs a name")
	}
	_, err := b.kv.put(ctx, b.key(name), []byte(storage.NoState), &none)
	if rest.Status(err) == http.StatusConflict {
		return nil
	}
	return err
}

// DeleteWorkspace removes the key of the workspace and the pieces of its state.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("can't delete default state")
	}
	s := &store{b: b, key: b.key(name)}
	_, at, err := s.get(ctx)
	if err != nil {
		return fmt.Errorf("the state can't be read before it is deleted: %w", err)
	}
	if err := b.kv.remove(ctx, s.key, nil); err != nil {
		return err
	}
	if err := s.SetNote(ctx, nil); err != nil && !errors.Is(err, storage.ErrNoNotes) {
		return err
	}
	return s.tidy(ctx, at.pieces, "")
}

// Place is the key, and the address of the agent.
func (b *Backend) Place(name string) string {
	return b.kv.client.Base.Host + " " + b.kv.where.Encode() + " consul://" + b.key(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b: b, key: b.key(name)}, nil
}
