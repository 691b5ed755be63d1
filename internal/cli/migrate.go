package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/storage/backends"
	"weir.dev/weir/internal/storage/local"
	"weir.dev/weir/internal/workdir"
)

// initBackend makes the configured backend the current one, with the states of
// the one before if that is wanted.
func (i *initializing) initBackend(ctx context.Context) (*backend, diag.List) {
	extra, diags := i.backendArguments(i.backendConfig)
	if diags.HasErrors() {
		return nil, diags
	}
	want, more := i.declaredBackend(i.prog, i.inputs, extra)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	have, err := i.dir().Backend()
	if err != nil && !i.reconfigure {
		return nil, oneError("Failed to read the record of the backend", "%s. Use -reconfigure to write it anew.", err)
	}
	if want == nil && len(extra) > 0 {
		diags.Append(warning("Missing backend configuration", "-backend-config was used without a \"backend\" block in the configuration, so it has no effect. Add a block such as\n\n  terraform {\n    backend \"local\" {}\n  }"))
	}
	next, record, more := i.nextBackend(want, have, len(extra) > 0)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	if sameRecord(record, have) && !i.reconfigure {
		return next, diags
	}
	diags.Append(i.replaceBackend(ctx, have, want, next))
	if diags.HasErrors() {
		return nil, diags
	}
	if err := i.dir().SetBackend(record); err != nil {
		diags.Errorf("Failed to record the backend", "%s.", err)
		return nil, diags
	}
	if want == nil {
		i.tell("\nSuccessfully unset the backend %q. weir will now operate locally.\n", have.Type)
	} else {
		i.tell("\nSuccessfully configured the backend %q! weir will automatically\nuse this backend unless the backend configuration changes.\n", next.kind)
	}
	return next, diags
}

// nextBackend is what the configuration asks for, with its record, which is
// nil for the default backend.
func (i *initializing) nextBackend(want *declared, have *workdir.Backend, extra bool) (*backend, *workdir.Backend, diag.List) {
	if want == nil {
		b := localBackend()
		b.requires = requiredBy(i.prog)
		return b, nil, nil
	}
	config := want.config
	if have != nil && have.Type == want.kind && have.Hash == want.hash && !extra && !i.reconfigure {
		// What -backend-config said the first time still holds.
		if recorded, err := have.Value(want.schema.ImpliedType()); err == nil {
			config = recorded
		}
	}
	var diags diag.List
	for _, name := range want.schema.Names() {
		if a := want.schema.Attributes[name]; a != nil && a.Required && config.GetAttr(name).IsNull() {
			diags.ErrorAt(want.block.Range, "Missing required argument", "The backend argument %q is required, but no definition was found. Set it in the block or with -backend-config.", name)
		}
	}
	if diags.HasErrors() {
		return nil, nil, diags
	}
	b, diags := i.openBackend(want.kind, config, i.prog)
	if b == nil || diags.HasErrors() {
		return nil, nil, diags
	}
	record, err := workdir.NewBackend(want.kind, config, want.hash)
	if err != nil {
		diags.Errorf("Failed to record the backend", "%s.", err)
	}
	return b, record, diags
}

// sameRecord compares by content; white space doesn't count.
func sameRecord(a, b *workdir.Backend) bool {
	if a == nil || b == nil {
		return a == b
	}
	var x, y bytes.Buffer
	return a.Type == b.Type && json.Compact(&x, a.Config) == nil && json.Compact(&y, b.Config) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// replaceBackend copies states to the new backend if that is wanted. It fails
// where it isn't said whether that is wanted.
func (i *initializing) replaceBackend(ctx context.Context, have *workdir.Backend, want *declared, next *backend) diag.List {
	if i.reconfigure {
		return nil
	}
	var old *backend
	switch {
	case have == nil:
		old = localBackend()
		if samePlace(old, next) {
			return nil
		}
	case !i.migrateState:
		return changedBackend(have, want)
	default:
		t, err := backends.All().Find(have.Type)
		if err != nil {
			return oneError("Unsupported backend type", "The backend that was initialized before can't be opened: %s Use -reconfigure to go on without its states.", err)
		}
		config, err := have.Value(t.Schema().ImpliedType())
		if err != nil {
			return oneError("Failed to read the record of the backend", "%s. Use -reconfigure to go on without its states.", err)
		}
		var diags diag.List
		if old, diags = i.openBackend(have.Type, config, nil); old == nil {
			return diags
		}
	}
	return i.migrate(ctx, old, next)
}

// samePlace reports whether two backends keep the default state in one file.
func samePlace(a, b *backend) bool {
	x, ok := a.Backend.(*local.Backend)
	y, both := b.Backend.(*local.Backend)
	return ok && both && filepath.Clean(x.Paths(storage.DefaultWorkspace).In) == filepath.Clean(y.Paths(storage.DefaultWorkspace).In)
}

func changedBackend(have *workdir.Backend, want *declared) diag.List {
	d := diag.Diagnostic{
		Summary: "Backend configuration changed",
		Detail: "A change in the backend configuration has been detected, which may require migrating existing state.\n\n" +
			"If you wish to attempt automatic migration of the state, use \"init -migrate-state\".\n" +
			"If you wish to store the current configuration with no changes to the state, use \"init -reconfigure\".",
	}
	if want == nil {
		d.Detail = fmt.Sprintf("The backend %q is no longer configured. ", have.Type) + d.Detail
	} else {
		d.Subject = want.block.Range.Ptr()
	}
	return diag.List{d}
}

// A copying is the state of a workspace on its way to another backend.
type copying struct {
	from, to       string // workspaces
	data           []byte
	source, target storage.Store
	overwrites     bool
}

// migrate copies the states of one backend to another, after asking.
func (i *initializing) migrate(ctx context.Context, old, next *backend) diag.List {
	plan, diags := i.planMigration(ctx, old, next)
	if diags.HasErrors() || len(plan) == 0 {
		return diags
	}
	q := question{
		query:       "Do you want to copy existing state to the new backend?",
		description: fmt.Sprintf("There is state in the %q backend, and none of it in the newly configured %q backend. Do you want to copy it there? Enter \"yes\" to copy and \"no\" to start with an empty state.", old.kind, next.kind),
	}
	if slices.ContainsFunc(plan, func(c copying) bool { return c.overwrites }) {
		q.description = fmt.Sprintf("Both the %q backend and the newly configured %q backend have state. Do you want to overwrite the state in the new backend? Enter \"yes\" to copy and \"no\" to use what is there.", old.kind, next.kind)
	}
	if len(plan) > 1 {
		q.query = fmt.Sprintf("Do you want to migrate all workspaces to %q?", next.kind)
	}
	if !i.forceCopy {
		answer, err := i.ask(ctx, q)
		if err != nil {
			diags.Errorf("Error asking for state migration action", "The answer can't be read: %s. Use -force-copy to copy without asking, or -reconfigure to copy nothing.", err)
			return diags
		}
		if answer != "yes" {
			return diags
		}
	}
	for _, c := range plan {
		diags.Append(i.copyState(ctx, c, next))
	}
	return diags
}

// planMigration finds the states that aren't in the new backend yet.
func (i *initializing) planMigration(ctx context.Context, old, next *backend) ([]copying, diag.List) {
	names, err := old.Workspaces(ctx)
	if errors.Is(err, storage.ErrWorkspacesNotSupported) {
		names, err = []string{storage.DefaultWorkspace}, nil
	}
	if err != nil {
		return nil, oneError("Error migrating state", "The workspaces of the %q backend can't be listed: %s.", old.kind, err)
	}
	_, err = next.Workspaces(ctx)
	single := errors.Is(err, storage.ErrWorkspacesNotSupported)
	if err != nil && !single {
		return nil, oneError("Error migrating state", "The workspaces of the %q backend can't be listed: %s.", next.kind, err)
	}
	if single && len(names) > 1 {
		current, diags := i.workspace()
		if diags.HasErrors() {
			return nil, diags
		}
		names = []string{current}
	}
	var plan []copying
	for _, name := range names {
		c := copying{from: name, to: name}
		if single {
			c.to = storage.DefaultWorkspace
		}
		if c.source, err = old.State(c.from); err == nil {
			c.data, err = c.source.Read(ctx)
		}
		if err != nil {
			return nil, oneError("Error migrating state", "The state of workspace %q can't be read: %s.", name, err)
		}
		if len(bytes.TrimSpace(c.data)) == 0 {
			continue
		}
		var there []byte
		if c.target, err = next.State(c.to); err == nil {
			there, err = c.target.Read(ctx)
		}
		if err != nil {
			return nil, oneError("Error migrating state", "The state of workspace %q in the new backend can't be read: %s.", c.to, err)
		}
		c.overwrites = len(bytes.TrimSpace(there)) > 0
		if !bytes.Equal(there, c.data) {
			plan = append(plan, c)
		}
	}
	return plan, nil
}

// copyState copies one state, with both locks held.
func (i *initializing) copyState(ctx context.Context, c copying, next *backend) diag.List {
	if err := next.CreateWorkspace(ctx, c.to); err != nil && !errors.Is(err, storage.ErrWorkspacesNotSupported) && c.to != storage.DefaultWorkspace {
		return oneError("Error migrating state", "The workspace %q can't be made: %s.", c.to, err)
	}
	from := &session{e: i.env, store: c.source}
	to := &session{e: i.env, store: c.target}
	diags := from.lock(ctx, "migration source state", i.state)
	if !diags.HasErrors() {
		diags.Append(to.lock(ctx, "migration destination state", i.state))
	}
	defer from.unlock()
	defer to.unlock()
	if diags.HasErrors() {
		return diags
	}
	if err := c.target.Write(ctx, c.data); err != nil {
		diags.Errorf("Error migrating state", "The state of workspace %q can't be written to the new backend: %s. The old backend still has it.", c.to, err)
	}
	return diags
}

// selectWorkspace makes sure that the selected workspace exists.
func (i *initializing) selectWorkspace(ctx context.Context, b *backend) diag.List {
	current, diags := i.workspace()
	if diags.HasErrors() || current == storage.DefaultWorkspace || i.env.vars["TF_WORKSPACE"] != "" {
		return diags
	}
	names, err := b.Workspaces(ctx)
	if errors.Is(err, storage.ErrWorkspacesNotSupported) {
		names, err = []string{storage.DefaultWorkspace}, nil
	}
	switch {
	case err != nil:
		return oneError("Failed to list workspaces", "%s.", err)
	case slices.Contains(names, current):
		return diags
	}
	chosen := names[0]
	if len(names) > 1 {
		answer, err := i.ask(ctx, question{
			query:       fmt.Sprintf("The currently selected workspace (%s) does not exist.", current),
			description: "Enter the name of one of these workspaces to select it:\n" + strings.Join(names, "\n"),
		})
		if err != nil || !slices.Contains(names, answer) {
			return oneError(fmt.Sprintf("Currently selected workspace %q does not exist", current), "Select one of those that exist with TF_WORKSPACE or the workspace command: %s.", strings.Join(names, ", "))
		}
		chosen = answer
	}
	if err := i.dir().SetWorkspace(chosen); err != nil {
		return oneError("Failed to select workspace", "%s.", err)
	}
	i.tell("The selected workspace doesn't exist here; now using workspace %q.\n", chosen)
	return diags
}

// recordedBackend opens the backend of a saved plan.
func (e *env) recordedBackend(kind string, config json.RawMessage, prog *program.Program) (*backend, diag.List) {
	t, err := backends.All().Find(kind)
	if err != nil {
		return nil, oneError("Unsupported backend type", "%s", err)
	}
	record := workdir.Backend{Type: kind, Config: config}
	v, err := record.Value(t.Schema().ImpliedType())
	if err != nil {
		return nil, oneError("Failed to read the plan's backend", "%s.", err)
	}
	return e.openBackend(kind, v, prog)
}

// recordOf is the configuration of a backend as records have it.
func recordOf(b *backend) (json.RawMessage, error) {
	record, err := workdir.NewBackend(b.kind, b.config, 0)
	if err != nil {
		return nil, err
	}
	return record.Config, nil
}
