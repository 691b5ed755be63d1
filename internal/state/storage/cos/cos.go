// Package cos stores states as objects in a bucket of Tencent's COS, one for each workspace,
// in the layout and with the locks of OpenTofu and Terraform. A lock is an object beside the
// state, which is created and read while the account has a tag.
//
// It owns these, the calls of Tencent's API that they need, and how its arguments, the
// environment and profiles become credentials. It doesn't look into the states, or connect
// before anything is asked.
package cos

import (
	"context"
	"crypto/md5" // #nosec G501 -- what other programs write
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

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
	return &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"bucket":     {Type: cty.String, Required: true, Description: "The bucket, with the ID of the account"},
			"region":     text("The region of the bucket"),
			"prefix":     text("What keys begin with"),
			"key":        text("The key of the state, terraform.tfstate by default"),
			"encrypt":    backendconfig.Optional(cty.Bool, "Whether the server encrypts the state, as by default"),
			"acl":        text("The ACL of the state: private, as by default, or public-read"),
			"accelerate": backendconfig.Optional(cty.Bool, "Whether the bucket is reached by global acceleration"),
			"endpoint":   text("The address of COS, such as https://cos-internal.ap-guangzhou.tencentcos.cn"),
			"domain":     text("The domain of Tencent's API, tencentcloudapi.com by default"),

			"secret_id":              text("The ID of the key"),
			"secret_key":             secret(text("The secret of the key")),
			"security_token":         secret(text("The token of temporary credentials")),
			"profile":                text("The profile of tccli"),
			"shared_credentials_dir": text("The directory of the profiles, ~/.tccli by default"),
			"cam_role_name":          text("The CAM role of the CVM instance"),
		},
		Blocks: map[string]*schema.NestedBlock{"assume_role": {Nesting: schema.Set, Max: 1, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
			"role_arn":         text("The role to assume"),
			"session_name":     text("The name of the session"),
			"session_duration": backendconfig.Optional(cty.Number, "How long the session lasts, in seconds up to 43200, 7200 by default"),
			"policy":           text("A policy that restricts the session"),
			"external_id":      text("The external ID"),
		}}}},
	}
}

// A Backend is the states under a key and a prefix of a bucket.
type Backend struct {
	bucket  string
	layout  objectstore.Layout
	encrypt bool
	acl     string
	address *url.URL // of the bucket
	api     *api

	mu     sync.Mutex
	opened *objectstore.Service
}

// New makes a backend from a configuration of the type of Schema. It doesn't connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		bucket: r.Text("bucket"), layout: objectstore.Layout{Prefix: r.Text("prefix"), Key: r.TextOr("terraform.tfstate", "key")},
		encrypt: r.BoolOr(true, "encrypt"), acl: r.TextOr("private", "acl"),
	}
	if b.bucket == "" {
		r.Problem("bucket", "Invalid backend configuration", "The name of the bucket must not be empty.")
	}
	if strings.HasPrefix(b.layout.Prefix, "/") || strings.HasPrefix(b.layout.Prefix, "./") {
		r.Problem("prefix", "Invalid backend configuration", "prefix must not start with '/' or './'")
	}
	if strings.HasPrefix(b.layout.Key, "/") || strings.HasSuffix(b.layout.Key, "/") {
		r.Problem("key", "Invalid backend configuration", "key can not start and end with '/'")
	}
	if b.acl != "private" && b.acl != "public-read" {
		r.Problem("acl", "Invalid backend configuration", "acl value invalid, expected private or public-read, got %s", b.acl)
	}
	region := r.Text("region", "TENCENTCLOUD_REGION")
	if region == "" {
		r.Problem("region", "Invalid backend configuration", "The region of the bucket has to be set, by region or TENCENTCLOUD_REGION.")
	}
	b.readAddress(r, region)
	b.api = &api{
		region: region, domain: r.TextOr("tencentcloudapi.com", "domain", "TENCENTCLOUD_DOMAIN"),
		http: useragent.Client(&http.Client{Transport: env.Transport}, useragent.Name(r.Getenv)), patience: r.Patience(),
	}
	b.api.access = readAccess(r, b.api)
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

func (b *Backend) readAddress(r *backendconfig.Reader, region string) {
	b.address = &url.URL{Scheme: "https", Host: b.bucket + ".cos." + region + ".myqcloud.com"}
	if r.Bool("accelerate") {
		b.address.Host = b.bucket + ".cos.accelerate.myqcloud.com"
	}
	text := r.Text("endpoint", "TENCENTCLOUD_ENDPOINT")
	if text == "" {
		return
	}
	to, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http":
		r.Problem("endpoint", "Invalid backend configuration", "The address of COS must be a URL such as https://cos-internal.ap-guangzhou.tencentcos.cn.")
		return
	case net.ParseIP(to.Hostname()) != nil:
		to.Path = "/" + b.bucket
	default:
		to.Host = b.bucket + "." + to.Host
	}
	b.address = to
}

// open makes the bucket, once.
func (b *Backend) open(context.Context) (*objectstore.Service, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		b.opened = &objectstore.Service{HTTP: b.api.http, Address: b.address, Patience: b.api.patience, Sign: b.sign}
	}
	return b.opened, nil
}

// Workspaces lists the states.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	service, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	names, err := b.layout.Workspaces(ctx, service)
	return names, b.explain(err)
}

// explain says so where the bucket isn't there.
func (b *Backend) explain(err error) error {
	if objectstore.Status(err) == http.StatusNotFound {
		return fmt.Errorf("bucket %s not exists: %w", b.bucket, err)
	}
	return err
}

// CreateWorkspace makes the object of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("state name not allow to be empty")
	}
	return objectstore.Create(ctx, b.store(name))
}

// DeleteWorkspace removes the object of the workspace.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("default state is not allow to delete")
	}
	service, err := b.open(ctx)
	if err != nil {
		return err
	}
	s := b.store(name)
	if err := service.Remove(ctx, s.Key); err != nil {
		return fmt.Errorf("failed to delete file %s: %w", s.Key, err)
	}
	return s.ClearNote(ctx)
}

// Place is the object, with the address of the bucket.
func (b *Backend) Place(name string) string {
	return b.address.Host + " cos://" + b.bucket + "/" + b.layout.Path(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if strings.TrimSpace(name) == "" {
		return nil, errors.New("state name not allow to be empty")
	}
	return b.store(name), nil
}

func (b *Backend) store(name string) *store {
	key := b.layout.Path(name)
	return &store{b: b, State: objectstore.State{
		Open: b.open, Key: key, Beside: key + ".intents", Header: b.header, Unless: "X-Cos-Forbid-Overwrite", Check: whole,
	}}
}

// sumHeader has the digest of an object's content. Other programs take nothing without.
const sumHeader = "X-Cos-Meta-Md5"

func digest(content []byte) string {
	sum := md5.Sum(content)
	return hex.EncodeToString(sum[:])
}

// header is that of an upload.
func (b *Backend) header(content []byte) http.Header {
	header := http.Header{"Content-Type": {"application/json"}, sumHeader: {digest(content)}, "X-Cos-Acl": {b.acl}}
	if b.encrypt {
		header.Set("X-Cos-Server-Side-Encryption", "AES256")
	}
	return header
}

// whole holds an object to its digest.
func whole(o objectstore.Object) error {
	want := o.Header.Get(sumHeader)
	switch is := digest(o.Content); {
	case len(want) != hex.EncodedLen(md5.Size):
		return fmt.Errorf("checksum %s invalid: the header %s has to be the MD5 of the content, %s", want, sumHeader, is)
	case want != is:
		return fmt.Errorf("checksum mismatch, %s != %s: it was damaged, or changed by something that doesn't write the header %s", is, want, sumHeader)
	}
	return nil
}
