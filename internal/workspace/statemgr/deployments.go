package statemgr

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/stack/remoteoutputs"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/statebackend"
)

// PublishedName is the workspace with what a stack publishes, in a backend that has
// workspaces. No deployment has that name there.
const PublishedName = "published-outputs"

// OneState says that a backend has no room for all deployments.
var OneState = diag.Code{Name: "one-state-only", Summary: "The backend has one state only"}

// StackBackend is where the states of the stack's deployments are, each in the workspace
// of its name: where the settings of the stack say, and else in parts in the directory.
// A backend without workspaces has the state of the only deployment.
func (d *Keeper) StackBackend(deployments ...string) (*statebackend.Backend, diag.List) {
	inputs, diags := d.place.Inputs(d.place.SettingsVars)
	prog, more := d.settings.RootSettings()
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	record, err := d.settings.Record().Backend()
	if prog.Backend == nil && record == nil && err == nil {
		return d.Unconfigured(nil), append(diags, d.settings.Encrypt(prog, inputs)...)
	}
	b, more := d.settings.InitializedBackend(prog, inputs)
	if diags.Append(more); b == nil || diags.HasErrors() {
		return nil, diags
	}
	b, more = ForDeployments(b, deployments)
	return b, append(diags, more...)
}

// ownKind is the kind of the backend that stacks have without settings.
const ownKind = "stack"

// Unconfigured is where states are when no setting says anything.
func (d *Keeper) Unconfigured(prog *program.Program) *statebackend.Backend {
	if d.settings.IsStack() {
		return &statebackend.Backend{Backend: shardedstate.Backend{Dir: d.place.Path(shardedstate.Dir), Disk: d.place.StateDisk}, Kind: ownKind, Config: cty.EmptyObjectVal}
	}
	return d.settings.Opener().Local(prog)
}

// ForDeployments is a backend with the states of deployments.
func ForDeployments(b *statebackend.Backend, deployments []string) (*statebackend.Backend, diag.List) {
	if b.Kind == ownKind {
		return b, nil
	}
	only, room := theOnly(b)
	switch {
	case room && slices.Contains(deployments, PublishedName):
		return nil, diag.BadName.As("Reserved deployment name").List("The stack's published outputs are in the workspace %q of the %q backend. Choose another name for the deployment.", PublishedName, b.Kind)
	case room:
		return b, nil
	case len(deployments) > 1:
		return nil, OneState.List("The %q backend, as it is configured, has room for one state, and the stack has %d deployments. Use a backend with workspaces, such as s3, gcs, azurerm, pg or local.", b.Kind, len(deployments))
	}
	one := *b
	one.Backend = single{b.Backend, only, deployments}
	return &one, nil
}

// theOnly is the only workspace that a backend has room for; room is true where there can
// be any number.
func theOnly(b storage.Backend) (name string, room bool) {
	if u, ok := b.(storage.Undefaulted); ok && u.Only() != "" {
		return u.Only(), false
	}
	_, err := b.State(PublishedName)
	return storage.DefaultWorkspace, !errors.Is(err, storage.ErrWorkspacesNotSupported)
}

// A single has the state of one deployment in the only workspace of a backend.
type single struct {
	storage.Backend
	only        string
	deployments []string
}

func (s single) Workspaces(context.Context) ([]string, error) { return s.deployments, nil }

func (s single) CreateWorkspace(ctx context.Context, name string) error {
	if !slices.Contains(s.deployments, name) {
		return storage.ErrWorkspacesNotSupported
	}
	return s.Backend.CreateWorkspace(ctx, s.only)
}

func (s single) DeleteWorkspace(context.Context, string) error {
	return storage.ErrWorkspacesNotSupported
}

func (s single) State(name string) (storage.Store, error) {
	if !slices.Contains(s.deployments, name) {
		return nil, fmt.Errorf("%w: the backend has the state of another deployment", storage.ErrWorkspacesNotSupported)
	}
	return s.Backend.State(s.only)
}

func (s single) Place(string) string { return s.Backend.Place(s.only) }

// Make makes sure that there is a place for the state of a deployment, and that plans
// and applies are made here.
func (d *Keeper) Make(ctx context.Context, b *statebackend.Backend, deployment string) diag.List {
	at := b.Backend
	if one, ok := at.(single); ok {
		at, deployment = one.Backend, one.only
	}
	if u, ok := at.(storage.Undefaulted); ok && u.Undefaulted() {
		if err := at.CreateWorkspace(ctx, deployment); err != nil {
			return diag.StateUnreadable.As("Failed to create workspace").List("%s.", err)
		}
	}
	if service, ok := at.(storage.Executor); ok {
		why, err := service.Elsewhere(ctx, deployment)
		if err != nil {
			return diag.StateUnreadable.List("The workspace %q can't be read: %s.", deployment, err)
		}
		if why != "" {
			return backendinit.Elsewhere.List("%s", why)
		}
	}
	return nil
}

// declared is the backend that the settings of the stack declare, also where the
// directory wasn't initialized with it: others only read there.
func (d *Keeper) declared() (*statebackend.Backend, diag.List) {
	prog, diags := d.settings.RootSettings()
	record, err := d.settings.Record().Backend()
	if diags.HasErrors() || prog.Backend == nil || record != nil || err != nil {
		b, more := d.StackBackend()
		return b, append(diags, more...)
	}
	inputs, diags := d.place.Inputs(d.place.SettingsVars)
	diags.Append(d.settings.Encrypt(prog, inputs))
	want, more := d.settings.Opener().Declare(prog, d.settings.BackendSettings(prog, inputs), nil)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	b, _, more := d.settings.Opener().Declared(want, prog)
	return b, append(diags, more...)
}

// Published is what the stack in the directory has published, nil if it never did.
func (d *Keeper) Published(ctx context.Context) (map[string]cty.Value, diag.List) {
	b, diags := d.declared()
	if diags.HasErrors() {
		return nil, diags
	}
	values, more := d.publishedIn(ctx, b)
	return values, append(diags, more...)
}

func (d *Keeper) publishedIn(ctx context.Context, b *statebackend.Backend) (map[string]cty.Value, diag.List) {
	if !elsewhere(b) {
		seals, diags := d.seals()
		if diags.HasErrors() {
			return nil, diags
		}
		values, err := remoteoutputs.Read(d.place.Path("."), seals)
		if err != nil {
			return nil, append(diags, diag.StateUnreadable.List("%s.", err)...)
		}
		return values, diags
	}
	s, diags := d.PresentIn(ctx, b, PublishedName, Options{})
	if s == nil || s.Prior() == nil {
		return nil, diags
	}
	return Outputs(s.Prior()), diags
}

// Publish writes down what the stack publishes, and reports whether that has changed.
func (d *Keeper) Publish(ctx context.Context, b *statebackend.Backend, values map[string]cty.Value) (bool, diag.List) {
	if !elsewhere(b) {
		seals, diags := d.seals()
		if diags.HasErrors() {
			return false, diags
		}
		changed, err := remoteoutputs.Write(d.place.Path("."), values, seals)
		if err != nil {
			diags.Add(diag.Unwritable.As("Failed to publish outputs").New(diag.Error, "%s.", err))
		}
		return changed, diags
	}
	diags := d.Make(ctx, b, PublishedName)
	if diags.HasErrors() {
		return false, diags
	}
	s, more := d.StateIn(ctx, b, PublishedName, Options{}, "publish")
	if diags.Append(more); s == nil {
		return false, diags
	}
	defer s.Unlock()
	next := state.Empty()
	for name, v := range values {
		bare, _ := v.UnmarkDeep()
		next.Outputs[name] = state.Output{Value: bare, Sensitive: value.IsSensitive(v)}
	}
	before := s.Base()
	if err := s.Save(ctx, next); err != nil {
		return false, append(diags, diag.Unwritable.As("Failed to publish outputs").List("%s.", err)...)
	}
	return before == nil || !statefile.Equal(before, next), diags
}

// MovePublished publishes in one backend what was in another one.
func (d *Keeper) MovePublished(ctx context.Context, old, next *statebackend.Backend) diag.List {
	values, diags := d.publishedIn(ctx, old)
	if len(values) > 0 && !diags.HasErrors() {
		_, more := d.Publish(ctx, next, values)
		diags.Append(more)
	}
	return diags
}

// elsewhere reports whether what a stack publishes is a state of its own in the backend,
// and not a file in the directory.
func elsewhere(b *statebackend.Backend) bool {
	if b.Kind == ownKind {
		return false
	}
	_, room := theOnly(b.Backend)
	return room
}

// Outputs are those of a state, marked where they are sensitive.
func Outputs(s *state.Snapshot) map[string]cty.Value {
	all := map[string]cty.Value{}
	for name, o := range s.Outputs {
		all[name] = o.Value
		if o.Sensitive {
			all[name] = o.Value.Mark(value.Sensitive)
		}
	}
	return all
}
