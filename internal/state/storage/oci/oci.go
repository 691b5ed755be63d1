// Package oci stores states as objects in a bucket of Oracle's Object Storage, one for each
// workspace, in the layout and with the locks of Terraform. A lock is an object beside the
// state.
//
// It owns these, the few requests that they need, and how its arguments and the environment
// become credentials. It doesn't look into the states, or connect before anything is asked.
package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/rest"
)

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return backendconfig.Optional(cty.String, description) }
	secret := func(description string) *schema.Attribute {
		a := text(description)
		a.Sensitive = true
		return a
	}
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"bucket":               {Type: cty.String, Required: true, Description: "The bucket"},
		"namespace":            {Type: cty.String, Required: true, Description: "The namespace of the bucket"},
		"key":                  text("The name of the state, terraform.tfstate by default"),
		"workspace_key_prefix": text("The prefix of other workspaces, tf-state-env by default"),
		"region":               text("The region of the bucket"),

		"auth":                 text("How to authenticate: ApiKey, as by default, InstancePrincipal, InstancePrincipalWithCerts, SecurityToken, ResourcePrincipal or OKEWorkloadIdentity"),
		"tenancy_ocid":         text("The tenancy"),
		"user_ocid":            text("The user"),
		"fingerprint":          text("The fingerprint of the user's key"),
		"private_key":          secret("The user's key, as PEM"),
		"private_key_path":     text("A file with the user's key"),
		"private_key_password": secret("The password of the user's key"),
		"config_file_profile":  text("The profile in ~/.oci/config"),

		"kms_key_id":              text("The key of the vault that the server encrypts with"),
		"sse_customer_key":        secret("The key that the server encrypts with and forgets, as base64"),
		"sse_customer_key_sha256": text("The SHA-256 of that key, as base64"),
		"sse_customer_algorithm":  text("The algorithm of the key, AES256 by default"),
	}}
}

// text is an argument or what stands for it in the environment.
func text(r *backendconfig.Reader, without, name string) string {
	return r.TextOr(without, name, "OCI_"+name, name)
}

// setting is one that is in the environment alone.
func setting(r *backendconfig.Reader, name string) string {
	if text := r.Getenv("OCI_" + name); text != "" {
		return text
	}
	return r.Getenv(name)
}

// A Backend is the states under a key and a prefix of a bucket.
type Backend struct {
	namespace, bucket, key, prefix string
	put, get                       http.Header // of states
	access                         *access

	mu     sync.Mutex
	opened *rest.Client
}

var bucketName = lazyregexp.New(`^[a-zA-Z0-9_-]+$`)

// New makes a backend from a configuration of the type of Schema. It doesn't connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		namespace: text(r, "", "namespace"), bucket: text(r, "", "bucket"),
		key: text(r, "terraform.tfstate", "key"), prefix: text(r, "tf-state-env", "workspace_key_prefix"),
	}
	if b.namespace == "" {
		r.Problem("namespace", "Missing Required Value", "The attribute %q is required by the backend.", "namespace")
	}
	if !bucketName.Get().MatchString(b.bucket) {
		r.Problem("bucket", "Invalid Value", "The bucket name can only include alphanumeric characters, underscores (_), and hyphens (-).")
	}
	if strings.HasPrefix(b.key, "/") || strings.HasSuffix(b.key, "/") || strings.Contains(b.key, "//") {
		r.Problem("key", "Invalid Value", `The value must not start or end with "/" and also not contain consecutive "/"`)
	}
	if strings.HasPrefix(b.prefix, "/") || strings.Contains(b.prefix, "//") {
		r.Problem("workspace_key_prefix", "Invalid Value", `The value must not start with "/" and also not contain consecutive "/"`)
	}
	b.readSealing(r)
	b.access = readAccess(r)
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// readSealing reads how the server encrypts states.
func (b *Backend) readSealing(r *backendconfig.Reader) {
	b.put, b.get = http.Header{"Content-Type": {"application/json"}}, http.Header{}
	vault, key, sum := text(r, "", "kms_key_id"), text(r, "", "sse_customer_key"), text(r, "", "sse_customer_key_sha256")
	switch {
	case key != "" && vault != "":
		r.Problem("kms_key_id", "Invalid Attribute Combination", "Only one of kms_key_id, sse_customer_key can be set.")
	case key != "" && sum == "":
		r.Problem("sse_customer_key_sha256", "Invalid Attribute Combination", "sse_customer_key and its SHA both required.")
	case vault != "":
		b.put.Set("Opc-Sse-Kms-Key-Id", vault)
	case key != "":
		for _, h := range []http.Header{b.put, b.get} {
			h.Set("Opc-Sse-Customer-Algorithm", text(r, "AES256", "sse_customer_algorithm"))
			h.Set("Opc-Sse-Customer-Key", key)
			h.Set("Opc-Sse-Customer-Key-Sha256", sum)
		}
	}
}

// open finds the credentials, once.
func (b *Backend) open(ctx context.Context) (*rest.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		client, err := b.access.client(ctx)
		if err != nil {
			return nil, err
		}
		client.Base.Path += "/n/" + b.namespace + "/b/" + b.bucket
		client.Say = func(body []byte) string {
			var told struct{ Code, Message string }
			_ = json.Unmarshal(body, &told) // those of proxies aren't JSON
			return strings.TrimPrefix(told.Code+": "+told.Message, ": ")
		}
		b.opened = client
	}
	return b.opened, nil
}

// Workspaces lists the states.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	client, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	under := strings.TrimSuffix(b.prefix, "/") + "/"
	if b.prefix == "" {
		under = ""
	}
	query := url.Values{"prefix": {under}, "limit": {"1000"}, "fields": {"name"}}
	var names []string
	for {
		var page struct {
			Objects       []struct{ Name string }
			NextStartWith string
		}
		if err := client.Into(ctx, rest.Request{Method: http.MethodGet, Path: "/o", Query: query}, &page); err != nil {
			return nil, fmt.Errorf("the states in the bucket %q can't be listed: %w", b.bucket, err)
		}
		for _, o := range page.Objects {
			rest, found := strings.CutSuffix(o.Name, "/"+b.key)
			name := strings.TrimPrefix(rest, under)
			if found && name != "" && !strings.Contains(name, "/") && strings.HasPrefix(rest, under) && name != storage.DefaultWorkspace {
				names = append(names, name)
			}
		}
		if page.NextStartWith == "" {
			break
		}
		query.Set("start", page.NextStartWith)
	}
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, names...), nil
}

// CreateWorkspace makes the object of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("a workspace needs a name")
	}
	s := &store{b: b, path: b.path(name), seen: &seen{}}
	if err := s.Write(ctx, []byte(storage.NoState)); err != nil && !errors.Is(err, storage.ErrChanged) {
		return err
	}
	return nil
}

// DeleteWorkspace removes the object of the workspace. Earlier versions of it stay, where
// the bucket keeps them.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("can't delete default state")
	}
	s := &store{b: b, path: b.path(name)}
	if err := s.remove(ctx, s.path, ""); err != nil {
		return fmt.Errorf("failed to delete the object %q: %w", s.path, err)
	}
	if err := s.SetNote(ctx, nil); err != nil && !errors.Is(err, storage.ErrNoNotes) {
		return err
	}
	return nil
}

// path is the name of a workspace's state.
func (b *Backend) path(name string) string {
	if name == storage.DefaultWorkspace {
		return b.key
	}
	return path.Join(b.prefix, name, b.key)
}

// Place is the object. Namespaces are those of one tenancy, of which there is one in all
// regions.
func (b *Backend) Place(name string) string {
	return "oci://" + b.access.region + "/" + b.namespace + "/" + b.bucket + "/" + b.path(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b: b, path: b.path(name)}, nil
}
