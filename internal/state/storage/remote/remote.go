// Package remote stores states in workspaces of HCP Terraform and compatible services, for the
// "remote" backend and for "cloud" blocks.
//
// It owns the calls of that interface, how workspaces here are those there, and what is known
// of a lock. Runs has the plans and applies that are made there. It doesn't connect before
// anything is asked.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Type is the entry of the "remote" backend for registries.
func Type() storage.Type { return executing(storage.TypeOf(Schema, New)) }

// Cloud is the entry of cloud blocks for registries.
func Cloud() storage.Type { return executing(storage.TypeOf(CloudSchema, NewCloud)) }

func executing(t storage.Type) storage.Type { t.Executes = true; return t }

// Schema is the shape of the "remote" backend.
func Schema() *schema.Block {
	return shape(map[string]*schema.Attribute{
		"name":   backendconfig.Optional(cty.String, "The one workspace whose state this is"),
		"prefix": backendconfig.Optional(cty.String, "The prefix of the workspaces' names"),
	})
}

// CloudSchema is the shape of cloud blocks. Anything that is left out comes from
// TF_CLOUD_HOSTNAME, TF_CLOUD_ORGANIZATION, TF_CLOUD_PROJECT and TF_WORKSPACE.
func CloudSchema() *schema.Block {
	return shape(map[string]*schema.Attribute{
		"name":    backendconfig.Optional(cty.String, "The one workspace whose state this is"),
		"tags":    backendconfig.Optional(cty.Set(cty.String), "Tags that all the workspaces have"),
		"project": backendconfig.Optional(cty.String, "The project of the workspaces"),
	})
}

func shape(workspaces map[string]*schema.Attribute) *schema.Block {
	token := backendconfig.Optional(cty.String, "The token, by default the one that login has stored")
	token.Sensitive = true
	return &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"hostname":     backendconfig.Optional(cty.String, "The host of the service"),
			"organization": backendconfig.Optional(cty.String, "The organization that has the workspaces"),
			"token":        token,
		},
		Blocks: map[string]*schema.NestedBlock{
			"workspaces": {Block: &schema.Block{Attributes: workspaces}, Nesting: schema.Single},
		},
	}
}

// A Backend is the workspaces of an organization that have a name, a prefix or tags.
type Backend struct {
	service
	name, prefix, project string
	tags                  []string
	cloud                 bool // of a cloud block
	forced                bool // that runs are here, whatever the workspace says

	mu        sync.Mutex
	projectAt string // the id of the project once it is known
}

// New makes a "remote" backend from a configuration of the type of Schema. It doesn't
// connect.
func New(config cty.Value, env storage.Env) (*Backend, diag.List) {
	b, r := begin(config, env)
	b.host, b.organization = r.Text("hostname"), r.Text("organization")
	if w := r.Object("workspaces"); w != nil {
		b.name, b.prefix = w.Text("name"), w.Text("prefix")
	}
	if b.organization == "" {
		r.Problem("organization", "Invalid organization value", `The "organization" attribute value must not be empty.`)
	}
	switch {
	case b.name == "" && b.prefix == "":
		r.Problem("workspaces", "Invalid workspaces configuration", `Either workspace "name" or "prefix" is required.`)
	case b.name != "" && b.prefix != "":
		r.Problem("workspaces", "Invalid workspaces configuration", `Only one of workspace "name" or "prefix" is allowed.`)
	}
	return b.finish(r, env)
}

// NewCloud makes the backend of a cloud block from a configuration of the type of
// CloudSchema. It doesn't connect.
func NewCloud(config cty.Value, env storage.Env) (*Backend, diag.List) {
	b, r := begin(config, env)
	b.cloud = true
	b.host, b.organization = cmp.Or(r.Text("hostname"), r.Getenv("TF_CLOUD_HOSTNAME")), cmp.Or(r.Text("organization"), r.Getenv("TF_CLOUD_ORGANIZATION"))
	if w := r.Object("workspaces"); w != nil {
		b.name, b.tags, b.project = w.Text("name"), w.Texts("tags"), w.Text("project")
	}
	b.project = cmp.Or(b.project, r.Getenv("TF_CLOUD_PROJECT"))
	slices.Sort(b.tags)
	if selected := r.Getenv("TF_WORKSPACE"); selected != "" {
		if b.name != "" && b.name != selected {
			r.Problem("", "Invalid workspaces configuration", "The workspace of the cloud block is %q, and TF_WORKSPACE says %q. Leave one of them out.", b.name, selected)
		}
		if len(b.tags) == 0 {
			b.name = selected
		}
	}
	if b.organization == "" {
		r.Problem("organization", "Invalid or missing required argument", `"organization" must be set in the cloud block, or as the environment variable TF_CLOUD_ORGANIZATION.`)
	}
	switch {
	case b.name == "" && len(b.tags) == 0:
		r.Problem("workspaces", "Invalid workspaces configuration", `A cloud block needs workspaces with a "name" or with "tags", or the environment variable TF_WORKSPACE.`)
	case b.name != "" && len(b.tags) > 0:
		r.Problem("workspaces", "Invalid workspaces configuration", `Only one of workspace "name" or "tags" is allowed.`)
	}
	return b.finish(r, env)
}

func begin(config cty.Value, env storage.Env) (*Backend, *backendconfig.Reader) {
	r := &backendconfig.Reader{Config: config, Env: env}
	return &Backend{forced: r.Getenv("TF_FORCE_LOCAL_BACKEND") != ""}, r
}

func (b *Backend) finish(r *backendconfig.Reader, env storage.Env) (*Backend, diag.List) {
	b.hosts, b.given, b.patience = env.Hosts, r.Text("token"), r.Patience()
	b.run, b.client = r.Getenv("TFE_RUN_ID"), client(env)
	b.services = []string{"tfe.v2.1", "tfe.v2", "state.v2"}
	if b.cloud {
		b.services = []string{"tfe.v2"}
	}
	if b.host = cmp.Or(b.host, env.CloudHost); b.host == "" {
		r.Problem("hostname", "Missing hostname", "There is no default for the host of the service: set hostname, such as \"app.terraform.io\"%s.", map[bool]string{true: ", or the environment variable TF_CLOUD_HOSTNAME"}[b.cloud])
	}
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return b, r.Diags
}

// Only implements storage.Undefaulted.
func (b *Backend) Only() string {
	if b.cloud {
		return b.name
	}
	return ""
}

// Undefaulted implements storage.Undefaulted: "remote" calls its only workspace the
// default one, as the incumbents do.
func (b *Backend) Undefaulted() bool { return b.cloud || b.name == "" }

// there is the name of a workspace at the service.
func (b *Backend) there(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("a workspace needs a name")
	case name == storage.DefaultWorkspace && b.Undefaulted():
		if b.cloud && b.name != "" {
			return "", fmt.Errorf("%w: the workspace is %q", storage.ErrNoDefaultWorkspace, b.name)
		}
		return "", storage.ErrNoDefaultWorkspace
	case name == storage.DefaultWorkspace:
		return b.name, nil
	case b.cloud && b.name != "" && name != b.name:
		return "", fmt.Errorf("%w: the configuration is for the workspace %q", storage.ErrWorkspacesNotSupported, b.name)
	case !b.cloud && b.name != "":
		return "", storage.ErrWorkspacesNotSupported
	}
	return b.prefix + strings.TrimPrefix(name, b.prefix), nil
}

// Workspaces lists those with the prefix or the tags.
func (b *Backend) Workspaces(ctx context.Context) ([]string, error) {
	switch {
	case !b.cloud && b.name != "":
		return nil, storage.ErrWorkspacesNotSupported
	case b.name != "":
		return []string{b.name}, nil
	}
	project, err := b.projectID(ctx, false)
	if err != nil || project == "" && b.project != "" {
		return nil, err
	}
	all, err := b.list(ctx, b.prefix, b.tags, project)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range all {
		if name, found := strings.CutPrefix(w.Attributes.Name, b.prefix); found && name != "" && name != storage.DefaultWorkspace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// CreateWorkspace makes the workspace, unless it is there, and gives it the tags.
func (b *Backend) CreateWorkspace(ctx context.Context, name string) error {
	there, err := b.there(name)
	if err == nil {
		_, err = b.ensure(ctx, there)
	}
	return err
}

// DeleteWorkspace removes the workspace with everything that the service has for it.
func (b *Backend) DeleteWorkspace(ctx context.Context, name string) error {
	if name == storage.DefaultWorkspace && !b.Undefaulted() || b.name != "" {
		return storage.ErrWorkspacesNotSupported
	}
	there, err := b.there(name)
	if err != nil {
		return err
	}
	return b.remove(ctx, there)
}

// Place is the host with organization and workspace.
func (b *Backend) Place(name string) string {
	there, err := b.there(name)
	if err != nil {
		there = name
	}
	return "remote://" + b.host + "/" + b.organization + "/" + there
}

// State opens the state of a workspace.
func (b *Backend) State(name string) (storage.Store, error) {
	there, err := b.there(name)
	if err != nil {
		return nil, err
	}
	return &store{b: b, name: there}, nil
}

// Elsewhere implements storage.Executor.
func (b *Backend) Elsewhere(ctx context.Context, name string) (string, error) {
	w, err := b.runs(ctx, name)
	if w == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("The workspace %s/%s has the execution mode %q, so %s plans and applies it. The commands plan, apply, destroy and refresh do that; here weir would have to plan itself. "+
		"To plan and apply here, set the execution mode of the workspace to \"local\"; to do so this once, with the variables of the workspace, set the environment variable TF_FORCE_LOCAL_BACKEND=1.", b.organization, w.Attributes.Name, w.Attributes.ExecutionMode, b.host), nil
}

// runs is the workspace if plans and applies are made there, nil otherwise.
func (b *Backend) runs(ctx context.Context, name string) (*workspace, error) {
	if b.forced {
		return nil, nil
	}
	w, err := b.remotely(ctx, name)
	if w == nil || err != nil {
		return nil, err
	}
	able, err := b.operations(ctx)
	if err != nil || !able {
		return nil, err
	}
	return w, nil
}

// remotely is the workspace if it is set up for runs there.
func (b *Backend) remotely(ctx context.Context, name string) (*workspace, error) {
	there, err := b.there(name)
	if err != nil {
		return nil, err
	}
	w, err := b.find(ctx, there)
	if w == nil || err != nil || w.Attributes.ExecutionMode == "local" || w.Attributes.ExecutionMode == "" {
		return nil, err
	}
	return w, nil
}

// Variables implements storage.Executor.
func (b *Backend) Variables(ctx context.Context, name string) ([]storage.Variable, error) {
	w, err := b.remotely(ctx, name)
	if w == nil || err != nil {
		return nil, err
	}
	return b.variables(ctx, w.ID)
}

// projectID is that of the configured project, "" for none and for one that isn't there;
// it is made where that is wanted.
func (b *Backend) projectID(ctx context.Context, make bool) (string, error) {
	if b.project == "" {
		return "", nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.projectAt != "" {
		return b.projectAt, nil
	}
	id, err := b.findProject(ctx, b.project)
	if err == nil && id == "" && make {
		id, err = b.makeProject(ctx, b.project)
	}
	b.projectAt = id
	return id, err
}

// ensure finds a workspace, or makes it, and gives it the tags that it lacks.
func (b *Backend) ensure(ctx context.Context, name string) (*workspace, error) {
	w, err := b.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if w == nil {
		project, err := b.projectID(ctx, true)
		if err != nil {
			return nil, fmt.Errorf("the project %q can't be had: %w", b.project, err)
		}
		return b.create(ctx, name, project, b.tags)
	}
	lacks := slices.DeleteFunc(slices.Clone(b.tags), func(tag string) bool { return slices.Contains(w.Attributes.TagNames, tag) })
	if len(lacks) > 0 {
		err = b.tag(ctx, w.ID, lacks)
	}
	return w, err
}
