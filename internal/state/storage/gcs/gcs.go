// Package gcs stores states as objects in a Google Cloud Storage bucket, one for each
// workspace, in the layout and with the locks of OpenTofu and Terraform. A lock is an object
// beside the state, and its generation is the lock's id.
//
// It owns these, the few requests of the service's JSON API that they need, and how its
// arguments and the environment become credentials. It doesn't look into the states, or
// connect before anything is asked.
package gcs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Schema is the shape of the configuration.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return backendconfig.Optional(cty.String, description) }
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"bucket":                      {Type: cty.String, Required: true, Description: "The bucket"},
		"prefix":                      text("The directory of the states in the bucket"),
		"credentials":                 text("The key of a service account or another credentials file: its content or its path"),
		"access_token":                text("An OAuth access token"),
		"impersonate_service_account": text("The service account to act as"),
		"impersonate_service_account_delegates": backendconfig.Optional(cty.List(cty.String),
			"The service accounts that hand the right to do so on, in order"),
		"encryption_key":          text("The key that the server encrypts with and forgets, as base64, or a file with it"),
		"kms_encryption_key":      text("The KMS key that the server encrypts with"),
		"storage_custom_endpoint": text("The address of the service, such as https://storage.googleapis.com/storage/v1/"),
		"universe_domain":         text("The domain of a cloud other than the public one"),
	}}
}

// A Backend is the states under a prefix of a bucket.
type Backend struct {
	bucket, prefix string
	sealing        sealing
	access         access
	agent          string

	mu     sync.Mutex
	opened *service
}

// New makes a backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{bucket: r.Text("bucket"), prefix: strings.TrimLeft(r.Text("prefix"), "/"), agent: useragent.Name(r.Getenv)}
	if b.prefix != "" && !strings.HasSuffix(b.prefix, "/") {
		b.prefix += "/"
	}
	if b.bucket == "" {
		r.Problem("bucket", "Invalid backend configuration", `The "bucket" attribute value must not be empty.`)
	}
	b.sealing = readSealing(r)
	b.access = readAccess(r)
	b.access.patience, b.access.transport = r.Patience(), env.Transport
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// open finds the credentials, once.
func (b *Backend) open(ctx context.Context) (*service, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		client, err := b.access.client(context.WithoutCancel(ctx))
		if err != nil {
			return nil, err
		}
		b.opened = &service{http: useragent.Client(client, b.agent), base: b.access.base, bucket: b.bucket, patience: b.access.patience}
	}
	return b.opened, nil
}

const suffix = ".tfstate"

// Workspaces lists the states.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	s, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := s.list(ctx, b.prefix)
	if err != nil {
		return nil, fmt.Errorf("querying Cloud Storage failed: %w", err)
	}
	var names []string
	for _, object := range objects {
		if name, found := strings.CutSuffix(path.Base(object), suffix); found && name != "" && name != storage.DefaultWorkspace {
			names = append(names, name)
		}
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
	s := b.store(name)
	s.seen = &seen{}
	err := s.Write(ctx, []byte(storage.NoState))
	if errors.Is(err, storage.ErrChanged) {
		return nil
	}
	return err
}

// DeleteWorkspace removes the object of the workspace.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return fmt.Errorf("cowardly refusing to delete the %q state", name)
	}
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	err = s.remove(ctx, b.object(name, suffix), "")
	if err != nil && !missing(err) {
		return fmt.Errorf("failed to delete state file %s: %w", b.url(name, suffix), err)
	}
	if err := b.store(name).SetNote(ctx, nil); err != nil && !errors.Is(err, storage.ErrNoNotes) {
		return err
	}
	return nil
}

// object is the name of one of a workspace's objects.
func (b *Backend) object(name, suffix string) string { return path.Join(b.prefix, name+suffix) }

// url is the same with its bucket.
func (b *Backend) url(name, suffix string) string {
	return "gs://" + b.bucket + "/" + b.object(name, suffix)
}

// Place is the object, and the address of the service.
func (b *Backend) Place(name string) string { return b.access.base.Host + " " + b.url(name, suffix) }

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, fmt.Errorf("%q is not a valid state name", name)
	}
	return b.store(name), nil
}

func (b *Backend) store(name string) *store { return &store{b: b, name: name} }
