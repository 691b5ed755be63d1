package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/backend"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/session"
	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/workdir"
)

// initBackend makes the configured backend the current one, with the states of
// the one before if that is wanted.
func (i *initializing) initBackend(ctx context.Context) (*backend.Backend, diag.List) {
	extra, diags := i.directory.BackendArguments(i.backendConfig)
	if diags.HasErrors() {
		return nil, diags
	}
	diags.Append(i.directory.Encrypt(i.prog, i.inputs))
	if diags.HasErrors() {
		return nil, diags
	}
	want, more := backend.Declare(i.prog, i.directory.BackendSettings(i.prog, i.inputs), extra)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	have, err := i.directory.Memory().Backend()
	if err != nil && !i.reconfigure {
		return nil, diag.OneError("Failed to read the record of the backend", "%s. Use -reconfigure to write it anew.", err)
	}
	if want == nil && len(extra) > 0 {
		diags.Append(diag.OneWarning("Missing backend configuration", "-backend-config was used without a \"backend\" block in the configuration, so it has no effect. Add a block such as\n\n  terraform {\n    backend \"local\" {}\n  }"))
	}
	next, record, more := i.nextBackend(want, have, len(extra) > 0)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	if backend.SameRecord(record, have) && !i.reconfigure {
		return next, diags
	}
	diags.Append(i.replaceBackend(ctx, have, want, next))
	if diags.HasErrors() {
		return nil, diags
	}
	if err := i.directory.Memory().SetBackend(record); err != nil {
		diags.Errorf("Failed to record the backend", "%s.", err)
		return nil, diags
	}
	if want == nil {
		i.tell("backend_configured_unset", "\nSuccessfully unset the backend %q. weir will now operate locally.\n", have.Type)
	} else {
		i.tell("backend_configured_success", "\nSuccessfully configured the backend %q! weir will automatically\nuse this backend unless the backend configuration changes.\n", next.Kind)
	}
	return next, diags
}

// nextBackend is what the configuration asks for, with its record, which is
// nil for the default backend.
func (i *initializing) nextBackend(want *backend.Declared, have *workdir.Backend, extra bool) (*backend.Backend, *workdir.Backend, diag.List) {
	if want == nil {
		return i.directory.Opener().Local(i.prog), nil, nil
	}
	if !extra && !i.reconfigure {
		want.Recall(have) // what -backend-config said the first time still holds
	}
	return i.directory.Opener().Declared(want, i.prog)
}

// replaceBackend copies states to the new backend if that is wanted. It fails
// where it isn't said whether that is wanted.
func (i *initializing) replaceBackend(ctx context.Context, have *workdir.Backend, want *backend.Declared, next *backend.Backend) diag.List {
	if i.reconfigure {
		return nil
	}
	if have != nil && !i.migrateState {
		return backend.Changed(have, want)
	}
	old, diags := i.directory.Opener().Before(have)
	if old == nil || diags.HasErrors() {
		return diags
	}
	if have == nil && old.SamePlace(next) {
		return nil
	}
	return i.migrate(ctx, old, next)
}

// migrate copies the states of one backend to another, after asking.
func (i *initializing) migrate(ctx context.Context, old, next *backend.Backend) diag.List {
	o, diags := i.directory.SessionOptions(next, i.state.options())
	if diags.HasErrors() {
		return diags
	}
	plan, more := session.PlanCopies(ctx, old, next, o, i.directory.Workspace)
	diags.Append(more)
	if diags.HasErrors() || len(plan) == 0 {
		return diags
	}
	q := question{
		query:       "Do you want to copy existing state to the new backend?",
		description: fmt.Sprintf("There is state in the %q backend, and none of it in the newly configured %q backend. Do you want to copy it there? Enter \"yes\" to copy and \"no\" to start with an empty state.", old.Kind, next.Kind),
	}
	if slices.ContainsFunc(plan, func(c session.Copy) bool { return c.Overwrites }) {
		q.description = fmt.Sprintf("Both the %q backend and the newly configured %q backend have state. Do you want to overwrite the state in the new backend? Enter \"yes\" to copy and \"no\" to use what is there.", old.Kind, next.Kind)
	}
	if len(plan) > 1 {
		q.query = fmt.Sprintf("Do you want to migrate all workspaces to %q?", next.Kind)
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
		diags.Append(c.Run(ctx, i.state.options().Locking, o))
	}
	return diags
}

// selectWorkspace makes sure that the selected workspace exists.
func (i *initializing) selectWorkspace(ctx context.Context, b *backend.Backend) diag.List {
	current, diags := i.directory.Workspace()
	if diags.HasErrors() || current == storage.DefaultWorkspace || i.env.vars["TF_WORKSPACE"] != "" {
		return diags
	}
	names, err := b.Workspaces(ctx)
	if errors.Is(err, storage.ErrWorkspacesNotSupported) {
		names, err = []string{storage.DefaultWorkspace}, nil
	}
	switch {
	case err != nil:
		return diag.OneError("Failed to list workspaces", "%s.", err)
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
			return diag.OneError(fmt.Sprintf("Currently selected workspace %q does not exist", current), "Select one of those that exist with TF_WORKSPACE or the workspace command: %s.", strings.Join(names, ", "))
		}
		chosen = answer
	}
	if err := i.directory.Memory().SetWorkspace(chosen); err != nil {
		return diag.OneError("Failed to select workspace", "%s.", err)
	}
	i.tell("", "The selected workspace doesn't exist here; now using workspace %q.\n", chosen)
	return diags
}
