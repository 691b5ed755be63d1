package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
	"weir.dev/weir/internal/workspace/workdir"
)

// Copies are states that could be copied to another backend.
type Copies struct {
	From, To string // kinds of backends
	States   int
	// Overwrites: there are others in their place.
	Overwrites bool
}

// backend makes the configured backend the current one, with the states of the one
// before if that is wanted.
func (i *initialization) backend(ctx context.Context) (*statebackend.Backend, diag.List) {
	extra, diags := i.Dir.Settings.BackendArguments(i.BackendConfig)
	if diags.HasErrors() {
		return nil, diags
	}
	diags.Append(i.Dir.Settings.Encrypt(i.prog, i.inputs))
	if diags.HasErrors() || i.Dir.Place.Options.Backend != nil {
		return i.Dir.Place.Options.Backend, diags
	}
	want, more := i.Dir.Settings.Opener().Declare(i.prog, i.Dir.Settings.BackendSettings(i.prog, i.inputs), extra)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	have, err := i.Dir.Settings.Record().Backend()
	if err != nil && !i.Reconfigure {
		return nil, diag.Unreadable.As("Failed to read the record of the backend").List("%s. Use -reconfigure to write it again.", err)
	}
	if want == nil && len(extra) > 0 {
		diags.Append(diag.BadBackend.As("Missing backend configuration").Warnings("-backend-config was used without a \"backend\" block in the configuration, so it has no effect. Add a block such as\n\n  terraform {\n    backend \"local\" {}\n  }"))
	}
	next, record, more := i.nextBackend(want, have, len(extra) > 0)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	if diags.Append(i.Dir.States.Usable(ctx, next)); diags.HasErrors() {
		return nil, diags
	}
	if i.Dir.Settings.Opener().SameRecord(record, have) && !i.Reconfigure {
		return next, diags
	}
	diags.Append(i.replaceBackend(ctx, have, want, next))
	if diags.HasErrors() {
		return nil, diags
	}
	if err := i.Dir.Settings.Record().SetBackend(record); err != nil {
		diags.Add(diag.Unwritable.As("Failed to record the backend").New(diag.Error, "%s.", err))
		return nil, diags
	}
	if want == nil {
		i.told.BackendUnset(have.Type)
	} else {
		i.told.BackendSet(next.Kind)
	}
	return next, diags
}

// nextBackend is what the configuration asks for, with its record, which is
// nil for the default backend.
func (i *initialization) nextBackend(want *statebackend.Declared, have *workdir.Backend, extra bool) (*statebackend.Backend, *workdir.Backend, diag.List) {
	if want == nil {
		return i.Dir.States.Unconfigured(i.prog), nil, nil
	}
	if !extra && !i.Reconfigure {
		want.Recall(have) // what -backend-config said the first time still holds
	}
	next, record, diags := i.Dir.Settings.Opener().Declared(want, i.prog)
	if next == nil || !i.Dir.Settings.IsStack() {
		return next, record, diags
	}
	next, more := statemgr.ForDeployments(next, i.deployments)
	return next, record, append(diags, more...)
}

// replaceBackend copies states to the new backend if that is wanted. It fails
// where it isn't said whether that is wanted.
func (i *initialization) replaceBackend(ctx context.Context, have *workdir.Backend, want *statebackend.Declared, next *statebackend.Backend) diag.List {
	if i.Reconfigure {
		return i.leftBehind(ctx, next)
	}
	if have != nil && !i.Migrate {
		return statebackend.Changed(have, want)
	}
	if have == nil && i.Dir.Settings.IsStack() {
		return i.migrate(ctx, i.Dir.States.Unconfigured(nil), next)
	}
	old, diags := i.Dir.Settings.Opener().Before(have)
	if old != nil && i.Dir.Settings.IsStack() {
		old, diags = statemgr.ForDeployments(old, i.deployments)
	}
	if old == nil || diags.HasErrors() {
		return diags
	}
	if have == nil && old.SamePlace(next) {
		return nil
	}
	return i.migrate(ctx, old, next)
}

// leftBehind warns of a state beside the configuration that -reconfigure doesn't copy to a backend
// that has none.
func (i *initialization) leftBehind(ctx context.Context, next *statebackend.Backend) diag.List {
	old := i.Dir.States.Unconfigured(nil)
	files, ok := old.Backend.(storage.Filed)
	if !ok || i.Dir.Settings.IsStack() || old.SamePlace(next) {
		return nil
	}
	path := files.Paths(storage.DefaultWorkspace).In
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	o, diags := i.Dir.States.SessionOptions(next, i.State)
	if diags.HasErrors() {
		return nil // the commands that use the backend report it
	}
	plan, _ := lockedstate.PlanCopies(ctx, old, next, o, i.Dir.Place.Workspace)
	if !slices.ContainsFunc(plan, func(c lockedstate.Copy) bool { return !c.Overwrites }) {
		return nil
	}
	return statebackend.ConfigurationChanged.As("The state isn't copied").Warnings("The %q backend has no state, and -reconfigure leaves the one in %s in that file. The next plan would create its objects again. To copy the state, run:\n    %s", next.Kind, path, diag.Command{Program: i.Dir.Place.Program, Name: "state push", Args: path})
}

// migrate copies the states of one backend to another, after asking.
func (i *initialization) migrate(ctx context.Context, old, next *statebackend.Backend) diag.List {
	o, diags := i.Dir.States.SessionOptions(next, i.State)
	if diags.HasErrors() {
		return diags
	}
	plan, more := lockedstate.PlanCopies(ctx, old, next, o, i.Dir.Place.Workspace)
	diags.Append(more)
	plan = slices.DeleteFunc(plan, func(c lockedstate.Copy) bool { return i.Dir.Settings.IsStack() && c.From() == statemgr.PublishedName })
	if diags.HasErrors() || len(plan) == 0 {
		return diags
	}
	wanted, err := i.told.Copy(ctx, Copies{From: old.Kind, To: next.Kind, States: len(plan), Overwrites: slices.ContainsFunc(plan, func(c lockedstate.Copy) bool { return c.Overwrites })})
	if err != nil {
		diags.Add(diag.Unanswered.As("Error asking for state migration action").New(diag.Error, "The answer can't be read: %s. Use -force-copy to copy without asking, or -reconfigure to copy nothing.", err))
		return diags
	}
	if !wanted {
		return diags
	}
	for _, c := range plan {
		diags.Append(c.Run(ctx, i.State.Locking, o))
	}
	if i.Dir.Settings.IsStack() && !diags.HasErrors() {
		diags.Append(i.Dir.States.MovePublished(ctx, old, next))
	}
	return diags
}

// selectWorkspace makes sure that the selected workspace exists.
func (i *initialization) selectWorkspace(ctx context.Context, b *statebackend.Backend) diag.List {
	current, diags := i.Dir.Place.Workspace()
	named, ok := b.Backend.(storage.Undefaulted)
	if diags.HasErrors() || i.Dir.Place.Getenv("TF_WORKSPACE") != "" || i.Dir.Place.Options.Workspace != "" || current == storage.DefaultWorkspace && !(ok && named.Undefaulted()) {
		return diags
	}
	names, err := b.Workspaces(ctx)
	if errors.Is(err, storage.ErrWorkspacesNotSupported) {
		names, err = []string{storage.DefaultWorkspace}, nil
	}
	switch {
	case err != nil:
		return diag.StateUnreadable.As("Failed to list workspaces").List("%s.", err)
	case slices.Contains(names, current):
		return diags
	case len(names) == 0:
		return statemgr.WorkspaceMissing.As("There is no workspace yet").Warnings("The %q backend has none that fits the configuration. Make one with \"%s workspace new NAME\".", b.Kind, i.Dir.Place.Program)
	}
	chosen := names[0]
	if len(names) > 1 {
		answer, err := i.told.Choose(ctx, current, names)
		if err != nil || !slices.Contains(names, answer) {
			return statemgr.WorkspaceMissing.As(fmt.Sprintf("Currently selected workspace %q does not exist", current)).List("Select one of those that exist with TF_WORKSPACE or the workspace command: %s.", strings.Join(names, ", "))
		}
		chosen = answer
	}
	if err := i.Dir.Place.Memory().SetWorkspace(chosen); err != nil {
		return statemgr.WorkspaceMissing.As("Failed to select workspace").List("%s.", err)
	}
	i.told.Chosen(chosen)
	return diags
}
