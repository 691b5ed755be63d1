// Package oss stores states as objects in a bucket of Alibaba's OSS, one for each workspace,
// in the layout and with the locks of OpenTofu and Terraform. A lock is a row in a table of
// Tablestore.
//
// It owns these, the few calls of Tablestore that they need, and how its arguments, the
// environment and profiles become credentials. It doesn't look into the states, or connect
// before anything is asked.
package oss

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aliyun/alibabacloud-oss-go-sdk-v2/oss/credentials"
	"github.com/aliyun/alibabacloud-oss-go-sdk-v2/oss/signer"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/objectstore"
)

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return backendconfig.Optional(cty.String, description) }
	secret := func(a *schema.Attribute) *schema.Attribute {
		a.Sensitive = true
		return a
	}
	number := func(description string) *schema.Attribute { return backendconfig.Optional(cty.Number, description) }
	const lasts = "How long the session of the role lasts, in seconds from 900 to 3600"
	return &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"bucket":  {Type: cty.String, Required: true, Description: "The bucket"},
			"key":     text("The key of the state, terraform.tfstate by default"),
			"prefix":  text("The prefix of keys, env: by default"),
			"encrypt": backendconfig.Optional(cty.Bool, "Whether the server encrypts the state"),
			"acl":     text("The ACL of the state: private, public-read or public-read-write"),

			"region":                   text("The region of the bucket"),
			"endpoint":                 text("The address of OSS"),
			"sts_endpoint":             text("The address of STS"),
			"tablestore_endpoint":      text("The address of the instance of Tablestore"),
			"tablestore_table":         text("The table for locks and digests"),
			"tablestore_instance_name": text("The instance of the table, by default what its address begins with"),

			"access_key":              text("The ID of the access key"),
			"secret_key":              secret(text("The secret of the access key")),
			"security_token":          secret(text("The token of temporary credentials")),
			"ecs_role_name":           text("The RAM role of the ECS instance"),
			"profile":                 text("The profile in the shared credentials file"),
			"shared_credentials_file": text("The shared credentials file, ~/.aliyun/config.json by default"),

			"assume_role_role_arn":           text("The RAM role to assume"),
			"assume_role_session_name":       text("The name of the session"),
			"assume_role_policy":             text("A policy that restricts the session, as JSON"),
			"assume_role_session_expiration": number(lasts),
		},
		Blocks: map[string]*schema.NestedBlock{"assume_role": {Nesting: schema.Set, Max: 1, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
			"role_arn":           text("The RAM role to assume"),
			"session_name":       text("The name of the session"),
			"policy":             text("A policy that restricts the session, as JSON"),
			"session_expiration": number(lasts),
		}}}},
	}
}

// A Backend is the states under a key and a prefix of a bucket.
type Backend struct {
	// Patience is how long to wait for a state that isn't yet what its digest says,
	// and Pause how long to wait before each further look.
	Patience, Pause time.Duration

	bucket   string
	layout   objectstore.Layout
	encrypt  bool
	acl      string
	endpoint *url.URL
	region   string // "" where it isn't known
	access   *access
	table    *table // nil without one
	patience time.Duration
	http     *http.Client

	mu     sync.Mutex
	opened *objectstore.Service
}

// New makes a backend from a configuration of the type of Schema. It doesn't connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		Patience: 10 * time.Second, Pause: 2 * time.Second,
		bucket: r.Text("bucket"), layout: objectstore.Layout{Key: r.TextOr("terraform.tfstate", "key")}, encrypt: r.Bool("encrypt"), acl: r.Text("acl"),
		patience: r.Patience(), http: useragent.Client(&http.Client{Transport: env.Transport}, useragent.Name(r.Getenv)),
	}
	if b.bucket == "" {
		r.Problem("bucket", "Invalid backend configuration", "The name of the bucket must not be empty.")
	}
	prefix := r.TextOr("env:", "prefix")
	if strings.HasPrefix(prefix, "/") || strings.HasPrefix(prefix, "./") {
		r.Problem("prefix", "Invalid backend configuration", "workspace_key_prefix must not start with '/' or './'")
	}
	b.layout.Prefix = strings.TrimPrefix(strings.Trim(prefix, "/"), "./")
	if strings.HasPrefix(b.layout.Key, "/") || strings.HasSuffix(b.layout.Key, "/") {
		r.Problem("key", "Invalid backend configuration", "key can not start and end with '/'")
	}
	if b.acl != "" && !slices.Contains([]string{"private", "public-read", "public-read-write"}, b.acl) {
		r.Problem("acl", "Invalid backend configuration", `"acl" must be a valid ACL value, expected private, public-read or public-read-write, got %q`, b.acl)
	}
	b.access = readAccess(r, b.http, b.patience)
	b.region = b.access.region
	b.endpoint = b.readEndpoint(r)
	b.table = b.readTable(r)
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// address reads an address that may lack https://, nil for none.
func address(r *backendconfig.Reader, name string, variables ...string) *url.URL {
	text := r.Text(name, variables...)
	if text == "" {
		return nil
	}
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		text = "https://" + text
	}
	to, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || to.Host == "" {
		r.Problem(name, "Invalid backend configuration", "%q must be the host of the service, or a URL such as https://oss-eu-central-1.aliyuncs.com.", name)
		return nil
	}
	return to
}

func (b *Backend) readEndpoint(r *backendconfig.Reader) *url.URL {
	to := address(r, "endpoint", "ALICLOUD_OSS_ENDPOINT", "OSS_ENDPOINT")
	if to == nil && b.region == "" {
		if !r.Diags.HasErrors() {
			r.Problem("region", "Invalid backend configuration", "Either the region of the bucket or the address of OSS has to be set: region or ALICLOUD_REGION, or endpoint or ALICLOUD_OSS_ENDPOINT.")
		}
		return nil
	}
	if to == nil {
		to = &url.URL{Scheme: "https", Host: "oss-" + b.region + ".aliyuncs.com"}
	}
	if name, found := strings.CutPrefix(to.Hostname(), "oss-"); found && b.region == "" {
		name, _, _ = strings.Cut(name, ".")
		b.region = strings.TrimSuffix(name, "-internal")
	}
	return to
}

func (b *Backend) readTable(r *backendconfig.Reader) *table {
	name := r.Text("tablestore_table")
	if name == "" {
		return nil
	}
	to := address(r, "tablestore_endpoint", "ALICLOUD_TABLESTORE_ENDPOINT")
	if to == nil {
		r.Problem("tablestore_endpoint", "Invalid backend configuration", "A table for locks needs the address of its instance, such as https://instance.eu-central-1.ots.aliyuncs.com: tablestore_endpoint or ALICLOUD_TABLESTORE_ENDPOINT.")
		return nil
	}
	first, _, _ := strings.Cut(to.Host, ".")
	instance := r.TextOr(first, "tablestore_instance_name")
	return &table{name: name, instance: instance, address: to, access: b.access, http: b.http, patience: b.patience}
}

// open makes the bucket, once.
func (b *Backend) open(context.Context) (*objectstore.Service, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return b.opened, nil
	}
	at := *b.endpoint
	if net.ParseIP(at.Hostname()) != nil {
		at.Path = "/" + b.bucket
	} else {
		at.Host = b.bucket + "." + at.Host
	}
	b.opened = &objectstore.Service{HTTP: b.http, Address: &at, Patience: b.patience, Sign: b.sign}
	return b.opened, nil
}

// sign signs a request in the newer way, for which the region has to be known: buckets that
// were made since 2025 take nothing else.
func (b *Backend) sign(ctx context.Context, r *http.Request, key string) error {
	k, err := b.access.get(ctx)
	if err != nil {
		return err
	}
	product := "oss"
	what := &signer.SigningContext{
		Product: &product, Region: &b.region, Bucket: &b.bucket, Request: r,
		Credentials: &credentials.Credentials{AccessKeyID: k.ID, AccessKeySecret: k.Secret, SecurityToken: k.Token},
	}
	if key != "" {
		what.Key = &key
	}
	if b.region == "" {
		return (&signer.SignerV1{}).Sign(ctx, what)
	}
	return (&signer.SignerV4{}).Sign(ctx, what)
}

// Workspaces lists the states.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	service, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	names, err := b.layout.Workspaces(ctx, service)
	if err != nil {
		return nil, fmt.Errorf("the states in the bucket %q can't be listed: %w", b.bucket, err)
	}
	return names, nil
}

// CreateWorkspace makes the object of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("missing state name")
	}
	return objectstore.Create(ctx, b.store(name))
}

// DeleteWorkspace removes the object of the workspace and its digest.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("can't delete default state")
	}
	service, err := b.open(ctx)
	if err != nil {
		return err
	}
	s := b.store(name)
	if err := service.Remove(ctx, s.Key); err != nil {
		return fmt.Errorf("error deleting state %s: %w", s.Key, err)
	}
	if err := s.ClearNote(ctx); err != nil {
		return err
	}
	if b.table == nil {
		return nil
	}
	return b.table.remove(ctx, s.digestID(), "")
}

// Place is the object, with the address of the service.
func (b *Backend) Place(name string) string {
	return b.endpoint.Host + " oss://" + b.bucket + "/" + b.layout.Path(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("missing state name")
	}
	return b.store(name), nil
}

func (b *Backend) store(name string) *store {
	key := b.layout.Path(name)
	beside := key + ".intents"
	if b.layout.Prefix != "" { // other programs take anything below it for a workspace
		beside = b.layout.Prefix + ".intents" + strings.TrimPrefix(key, b.layout.Prefix)
	}
	return &store{b: b, State: objectstore.State{Open: b.open, Key: key, Beside: beside, Header: b.header, Unless: "X-Oss-Forbid-Overwrite"}}
}

// header is that of an upload.
func (b *Backend) header([]byte) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	if b.acl != "" {
		header.Set("X-Oss-Object-Acl", b.acl)
	}
	if b.encrypt {
		header.Set("X-Oss-Server-Side-Encryption", "AES256")
	}
	return header
}
