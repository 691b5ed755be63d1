// Package azurerm stores states as blobs in an Azure Storage container, one for each
// workspace, in the layout and with the locks of OpenTofu and Terraform. A lock is an endless
// lease with the lock's id, and the blob's metadata has its holder.
//
// It owns these, the few requests that they need, and how its arguments and the environment
// become credentials of the Azure SDK. It doesn't look into the states, or connect before
// anything is asked.
package azurerm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Schema is the shape of the configuration. Anything that is left out comes from the
// environment: ARM_ and the name in capitals, where it isn't required.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return backendconfig.Optional(cty.String, description) }
	yes := func(description string) *schema.Attribute { return backendconfig.Optional(cty.Bool, description) }
	name := func(description string) *schema.Attribute {
		return &schema.Attribute{Type: cty.String, Required: true, Description: description}
	}
	old := func(a *schema.Attribute) *schema.Attribute { a.Deprecated = true; return a }
	key := text("The AES-256 key that the service encrypts with and forgets, as base64")
	key.Sensitive = true
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"storage_account_name": name("The storage account"),
		"container_name":       name("The container"),
		"key":                  name("The name of the blob"),
		"resource_group_name":  text("The resource group of the account, to request its access key"),
		"subscription_id":      text("The subscription of the account, to request its access key"),
		"lookup_blob_endpoint": yes("Whether to look up the account's address for blobs, for accounts with DNS zone endpoints"),

		"environment":           text("The cloud: public, usgovernment or china"),
		"metadata_host":         text("The host with the addresses of another cloud"),
		"endpoint":              old(text("Has no effect")),
		"timeout_seconds":       backendconfig.Optional(cty.Number, "How long a request may take, 300 by default"),
		"snapshot":              yes("Whether each state is kept as a snapshot before it is replaced"),
		"customer_provided_key": key,
		"encryption_scope":      text("The encryption scope of the state"),

		"access_key":                  text("An access key of the account"),
		"sas_token":                   text("A shared access signature"),
		"use_azuread_auth":            yes("Whether blobs are asked for with tokens instead of the access key that tokens get"),
		"tenant_id":                   text("The tenant"),
		"client_id":                   text("The client"),
		"client_id_file_path":         text("A file with the client"),
		"client_secret":               text("The client's secret"),
		"client_secret_file_path":     text("A file with the client's secret"),
		"client_certificate":          text("The client's certificate and key, as PKCS#12 in base64"),
		"client_certificate_path":     text("A file with them, as PKCS#12"),
		"client_certificate_password": text("The password of the certificate"),
		"use_cli":                     yes("Whether the login of the Azure CLI is used, true by default"),
		"use_msi":                     yes("Whether the managed identity of the machine is used"),
		"msi_endpoint":                old(text("The address of the managed identity")),
		"use_aks_workload_identity":   yes("Whether the workload identity of AKS is used"),
		"use_oidc":                    yes("Whether the token of another identity provider is used"),
		"oidc_token":                  text("That token"),
		"oidc_token_file_path":        text("A file with that token"),
		"oidc_request_url":            text("The URL to request that token from"),
		"oidc_request_token":          text("The token to request it with"),
		"ado_service_connection_id":   text("The service connection of Azure DevOps"),

		"ado_pipeline_service_connection_id": text("The service connection of Azure DevOps, by Terraform's name"),
	}}
}

// A Backend is the states under a key in a container.
type Backend struct {
	// HTTP sends requests, nil for the default client.
	HTTP *http.Client

	account, container, key string
	snapshots               bool
	timeout, patience       time.Duration
	sealing                 sealing
	access                  access
	agent                   string

	mu     sync.Mutex
	opened *service
}

// New makes a backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		account:   r.Text("storage_account_name"),
		container: r.Text("container_name"),
		key:       r.Text("key"),
		snapshots: r.Bool("snapshot", "ARM_SNAPSHOT"),
		timeout:   time.Duration(r.Int("timeout_seconds", 300, "ARM_TIMEOUT_SECONDS")) * time.Second,
		agent:     useragent.Name(r.Getenv),
	}
	if !named(b.account, 24, "") {
		r.Problem("storage_account_name", "Invalid backend configuration", "The name of a storage account has 3 to 24 lowercase letters and digits. %q isn't one.", b.account)
	}
	if !named(b.container, 63, "-") || strings.Trim(b.container, "-") != b.container || strings.Contains(b.container, "--") {
		r.Problem("container_name", "Invalid backend configuration", "The name of a container has 3 to 63 lowercase letters, digits and hyphens, none of which is at an end or beside another. %q isn't one.", b.container)
	}
	if b.key == "" {
		r.Problem("key", "Invalid backend configuration", `The "key" attribute value must not be empty.`)
	}
	if r.Set("endpoint") {
		r.Warn("endpoint", "Deprecated Parameter", `Parameter "endpoint" has no effect. Use "environment" or "metadata_host" for other clouds.`)
	}
	b.sealing = readSealing(r)
	b.access = readAccess(r)
	b.patience = r.Patience()
	b.access.account, b.access.agent = b.account, b.agent
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// named reports whether a name has 3 or more lowercase letters, digits and others.
func named(name string, most int, others string) bool {
	return len(name) >= 3 && len(name) <= most && strings.Trim(name, "0123456789abcdefghijklmnopqrstuvwxyz"+others) == ""
}

// sealing is how the service encrypts states. The zero value leaves it to the
// container.
type sealing struct {
	customer []byte // the key, nil without
	scope    string
}

func readSealing(r *backendconfig.Reader) sealing {
	// The second name is what the incumbents look for by mistake.
	s := sealing{scope: r.Text("encryption_scope", "ARM_ENCRYPTION_SCOPE", "ARM_ENCYRPTION_SCOPE")}
	text := r.Text("customer_provided_key", "ARM_CUSTOMER_PROVIDED_KEY")
	if text == "" {
		return s
	}
	if s.scope != "" {
		r.Problem("customer_provided_key", "Conflicting configuration arguments", `"customer_provided_key": conflicts with encryption_scope`)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		r.Problem("customer_provided_key", "Invalid backend configuration", "The key must be base64: %s.", err)
	case len(key) != 32:
		r.Problem("customer_provided_key", "Invalid backend configuration", "The key must have 32 bytes, for AES-256. This one has %d.", len(key))
	}
	s.customer = key
	return s
}

// open finds the credentials, once.
func (b *Backend) open(ctx context.Context) (*service, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		s, err := b.access.open(ctx, b.HTTP, b.container)
		if err != nil {
			return nil, err
		}
		s.sealing, s.timeout, s.patience = b.sealing, b.timeout, b.patience
		b.opened = s
	}
	return b.opened, nil
}

// between stands between the key and the name of a workspace.
const between = "env:"

// Workspaces lists the blobs.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	s, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	blobs, err := s.list(ctx, b.key+between)
	if err != nil {
		return nil, fmt.Errorf("error listing blobs: %w", err)
	}
	var names []string
	for _, blob := range blobs {
		if name, found := strings.CutPrefix(blob, b.key+between); found && name != "" && name != storage.DefaultWorkspace && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, names...), nil
}

// CreateWorkspace makes the blob of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	switch name {
	case storage.DefaultWorkspace:
		return nil
	case "":
		return errors.New("a workspace needs a name")
	}
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	return s.make(ctx, b.blob(name))
}

// DeleteWorkspace removes the blob of the workspace.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("can't delete default state")
	}
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, b.blob(name)); err != nil && !missing(err) {
		return fmt.Errorf("error deleting blob: %w", err)
	}
	if err := (&store{b: b, blob: b.blob(name)}).SetNote(ctx, nil); err != nil && !errors.Is(err, storage.ErrNoNotes) {
		return err
	}
	return nil
}

// blob is the name of the state of a workspace.
func (b *Backend) blob(name string) string {
	if name == storage.DefaultWorkspace {
		return b.key
	}
	return b.key + between + name
}

// Place is the blob, and the cloud.
func (b *Backend) Place(name string) string {
	return b.access.environment + b.access.metadataHost + " azure://" + b.account + "/" + b.container + "/" + b.blob(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if name == "" {
		return nil, errors.New("a workspace needs a name")
	}
	return &store{b: b, blob: b.blob(name)}, nil
}
