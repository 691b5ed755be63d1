// Package kubernetes stores states as secrets of a cluster, one for each workspace, in the
// layout and with the locks of OpenTofu and Terraform. A lock is a lease beside the secret
// with the lock's id as its holder, and an annotation with the holder's data.
//
// It owns these, the few requests that they need, and how arguments and kubeconfig files
// become an address and credentials. It doesn't look into the states, or connect before
// anything is asked.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
	"weir.dev/weir/internal/state/storage/rest"
)

// Schema is the shape of the configuration. Most of what is left out comes from the
// environment: KUBE_HOST and so on.
func Schema() *schema.Block {
	text := func(description string) *schema.Attribute { return backendconfig.Optional(cty.String, description) }
	secret := func(description string) *schema.Attribute {
		a := text(description)
		a.Sensitive = true
		return a
	}
	required := func(description string) *schema.Attribute {
		return &schema.Attribute{Type: cty.String, Required: true, Description: description}
	}
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"secret_suffix": required("The suffix of secrets: their names are tfstate-WORKSPACE-SUFFIX"),
		"labels":        backendconfig.Optional(cty.Map(cty.String), "Further labels of secrets and leases"),
		"namespace":     text("The namespace, default by default"),

		"in_cluster_config":        backendconfig.Optional(cty.Bool, "Whether the service account of the pod is used"),
		"load_config_file":         backendconfig.Optional(cty.Bool, "Whether kubeconfig files are read, true by default"),
		"config_path":              text("The kubeconfig file"),
		"config_paths":             backendconfig.Optional(cty.List(cty.String), "Several kubeconfig files, of which the first that says something counts"),
		"config_context":           text("The context, instead of the current one"),
		"config_context_auth_info": text("The user, instead of that of the context"),
		"config_context_cluster":   text("The cluster, instead of that of the context"),

		"host":                   text("The address of the cluster"),
		"username":               text("The user for basic authentication"),
		"password":               secret("The password for basic authentication"),
		"token":                  secret("The token of a service account"),
		"proxy_url":              text("The proxy for requests to the cluster"),
		"insecure":               backendconfig.Optional(cty.Bool, "Whether to trust any server certificate"),
		"client_certificate":     text("The certificate that identifies the client, as PEM"),
		"client_key":             secret("The private key for client_certificate, as PEM"),
		"cluster_ca_certificate": text("The certificates of authorities to trust, as PEM"),
	}, Blocks: map[string]*schema.NestedBlock{
		"exec": {Nesting: schema.List, Max: 1, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
			"api_version": required("The version of the interface of the program"),
			"command":     required("The program that prints credentials"),
			"args":        backendconfig.Optional(cty.List(cty.String), "Its arguments"),
			"env":         backendconfig.Optional(cty.Map(cty.String), "Variables that are added to its environment"),
		}}},
	}}
}

// A Backend is the states with a suffix in a namespace.
type Backend struct {
	suffix, namespace string
	labels            map[string]string
	access            access
	agent             string

	mu     sync.Mutex
	opened *rest.Client
}

// New makes a backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	b := &Backend{
		suffix:    r.Text("secret_suffix"),
		namespace: r.TextOr("default", "namespace", "KUBE_NAMESPACE"),
		labels:    r.Map("labels"),
		agent:     useragent.Name(r.Getenv),
	}
	if problem := b.name(storage.DefaultWorkspace); problem != nil {
		r.Problem("secret_suffix", "Invalid backend configuration", "%s.", problem)
	}
	if b.namespace == "" || strings.Contains(b.namespace, "/") {
		r.Problem("namespace", "Invalid backend configuration", "%q isn't the name of a namespace.", b.namespace)
	}
	b.access = readAccess(r)
	b.access.patience = r.Patience()
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// open finds the address and credentials, once.
func (b *Backend) open(ctx context.Context) (*rest.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		client, err := b.access.open(ctx)
		if err != nil {
			return nil, err
		}
		client.HTTP = useragent.Client(client.HTTP, b.agent)
		client.Say = say
		b.opened = client
	}
	return b.opened, nil
}

// secretName is that of the state of a workspace.
func (b *Backend) secretName(workspace string) string { return "tfstate-" + workspace + "-" + b.suffix }

// name says why there can be no secret for a workspace: its name has to be one of a
// domain, RFC 1123.
func (b *Backend) name(workspace string) error {
	name := b.secretName(workspace)
	good := workspace != "" && len(name) <= 253
	for part := range strings.SplitSeq(name, ".") {
		good = good && part != "" && strings.Trim(part, "-") == part && strings.Trim(part, "-0123456789abcdefghijklmnopqrstuvwxyz") == ""
	}
	if good {
		return nil
	}
	return fmt.Errorf("the secret name %q is invalid: Kubernetes takes lowercase letters, digits, \"-\" and \".\" with a letter or digit at both ends, 253 in all. The workspace and secret_suffix are part of it", name)
}

// Labels that tell which secrets are states, and of what.
const (
	isState       = "tfstate"
	suffixLabel   = "tfstateSecretSuffix"
	spaceLabel    = "tfstateWorkspace"
	managed       = "app.kubernetes.io/managed-by"
	lockInfoLabel = "app.terraform.io/lock-info" // an annotation
)

// object is one without anything in it.
func (b *Backend) object(workspace, prefix string) object {
	labels := map[string]any{isState: "true", suffixLabel: b.suffix, spaceLabel: workspace, managed: "terraform"}
	for name, value := range b.labels {
		labels[name] = value
	}
	return object{"metadata": map[string]any{"name": prefix + b.secretName(workspace), "namespace": b.namespace, "labels": labels}}
}

func (b *Backend) secrets() string { return "/api/v1/namespaces/" + b.namespace + "/secrets" }

func (b *Backend) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + b.namespace + "/leases"
}

// Workspaces lists the secrets.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	client, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	query := url.Values{"labelSelector": {isState + "=true"}, "limit": {"100"}}
	for {
		var page struct {
			Items    []object `json:"items"`
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
		}
		if err := client.Into(ctx, rest.Request{Method: http.MethodGet, Path: b.secrets(), Query: query}, &page); err != nil {
			return nil, fmt.Errorf("the secrets can't be listed: %w", err)
		}
		for _, o := range page.Items {
			if name := o.label(spaceLabel); o.label(suffixLabel) == b.suffix && name != "" && name != storage.DefaultWorkspace {
				names[name] = true
			}
		}
		if page.Metadata.Continue == "" {
			return append([]string{storage.DefaultWorkspace}, slices.Sorted(maps.Keys(names))...), nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// CreateWorkspace makes the secret of the workspace, unless it is there.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace {
		return nil
	}
	if err := b.name(name); err != nil {
		return err
	}
	client, err := b.open(ctx)
	if err != nil {
		return err
	}
	o := b.object(name, "")
	if err := o.setState([]byte(storage.NoState)); err != nil {
		return err
	}
	if _, err := put(ctx, client, b.secrets(), o); err != nil && !conflict(err) {
		return err
	}
	return nil
}

// DeleteWorkspace removes the secret of the workspace and its lease.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace || name == "" {
		return errors.New("can't delete default state")
	}
	client, err := b.open(ctx)
	if err != nil {
		return err
	}
	noted := (&store{b: b, name: name}).SetNote(ctx, nil)
	if errors.Is(noted, storage.ErrNoNotes) {
		noted = nil
	}
	return errors.Join(
		remove(ctx, client, b.secrets(), b.secretName(name), isState),
		remove(ctx, client, b.leases(), "lock-"+b.secretName(name), isState),
		noted,
	)
}

// Place is the secret, and what says where the cluster is.
func (b *Backend) Place(name string) string {
	return b.access.place() + " " + b.secrets() + "/" + b.secretName(name)
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	if err := b.name(name); err != nil {
		return nil, err
	}
	return &store{b: b, name: name}, nil
}
