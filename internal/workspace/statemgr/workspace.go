package statemgr

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Workspaces lists the workspaces of the backend, and reports which is selected.
func (d *Keeper) Workspaces(ctx context.Context) (names []string, current string, diags diag.List) {
	_, names, diags = d.workspaces(ctx)
	if diags.HasErrors() {
		return nil, "", diags
	}
	current, more := d.place.Workspace()
	return names, current, append(diags, more...)
}

func (d *Keeper) workspaces(ctx context.Context) (*statebackend.Backend, []string, diag.List) {
	b, diags := d.settings.CurrentBackend()
	if b == nil || diags.HasErrors() {
		return nil, nil, diags
	}
	names, err := b.Workspaces(ctx)
	if err != nil {
		diags.Add(diag.StateUnreadable.As("Failed to list workspaces").New(diag.Error, "%s.", err))
	}
	return b, names, diags
}

// selectable rejects names that can't be, and selecting at all while the environment decides.
func (d *Keeper) selectable(name string) diag.List {
	if given := d.place.Getenv("TF_WORKSPACE"); given != "" && given != name {
		return diag.BadWorkspace.As("The selected workspace is overridden using the TF_WORKSPACE environment variable").List("To select a workspace, change or unset that variable.")
	}
	if !environment.ValidWorkspace(name) {
		return diag.BadWorkspace.List("The workspace name %q is not allowed: %s", name, environment.WorkspaceNames)
	}
	return nil
}

func (d *Keeper) chooseWorkspace(name string) diag.List {
	if err := d.place.Memory().SetWorkspace(name); err != nil {
		return diag.StateUnreadable.As("Failed to select workspace").List("%s.", err)
	}
	return nil
}

// NewWorkspace creates a workspace and selects it. From names a state file to begin
// with, or is empty.
func (d *Keeper) NewWorkspace(ctx context.Context, name, from string, o Options) diag.List {
	if diags := d.selectable(name); diags.HasErrors() {
		return diags
	}
	b, names, diags := d.workspaces(ctx)
	if diags.HasErrors() {
		return diags
	}
	if slices.Contains(names, name) {
		return append(diags, diag.BadWorkspace.As("Workspace \""+name+"\" already exists").List("Use \"%s workspace select %s\" to switch to it.", d.place.Program, name)...)
	}
	if err := b.CreateWorkspace(ctx, name); err != nil {
		return append(diags, diag.StateUnreadable.As("Failed to create workspace").List("%s.", err)...)
	}
	if from != "" {
		diags.Append(d.copyInto(ctx, b, name, from, o))
	}
	if !diags.HasErrors() {
		diags.Append(d.chooseWorkspace(name))
	}
	return diags
}

// copyInto begins a workspace with a state from a file.
func (d *Keeper) copyInto(ctx context.Context, b *statebackend.Backend, name, from string, o Options) diag.List {
	data, err := d.place.ReadFile(from)
	if err != nil {
		return diag.StateUnreadable.As("Failed to read the state to copy").List("%s: %s.", from, diag.Cause(err))
	}
	data, diags := d.settings.OpenSealed(data)
	if diags.HasErrors() {
		return diags
	}
	snapshot, more := statefile.Read(data, from)
	if diags.Append(more); diags.HasErrors() {
		return diags
	}
	opened, more := d.OpenState(b, name, o)
	if diags.Append(more); opened == nil {
		return diags
	}
	s, more := d.Lock(ctx, opened, "workspace-new", o)
	if diags.Append(more); s == nil || diags.HasErrors() {
		return diags
	}
	if err := s.Put(ctx, snapshot); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write state").New(diag.Error, "%s.", err))
	}
	return diags
}

// A WorkspaceChange is what selecting a workspace has changed.
type WorkspaceChange uint8

const (
	WorkspaceSame WorkspaceChange = iota
	WorkspaceSwitched
	WorkspaceMade
)

// SelectWorkspace selects a workspace, and creates it if that is wanted.
func (d *Keeper) SelectWorkspace(ctx context.Context, name string, create bool) (WorkspaceChange, diag.List) {
	if diags := d.selectable(name); diags.HasErrors() {
		return WorkspaceSame, diags
	}
	b, names, diags := d.workspaces(ctx)
	if diags.HasErrors() {
		return WorkspaceSame, diags
	}
	current, _ := d.place.Workspace() // selecting another one is the way out of a bad name
	change := WorkspaceSwitched
	switch there := slices.Contains(names, name); {
	case there && name == current:
		change = WorkspaceSame
	case there:
	case !create:
		diags.Add(WorkspaceMissing.As("Workspace \""+name+"\" doesn't exist.").New(diag.Error, "You can create this workspace with the \"new\" subcommand or include the \"-or-create\" flag with the \"select\" subcommand.%s", suggest.Ask(name, names)))
		return WorkspaceSame, diags
	default:
		if err := b.CreateWorkspace(ctx, name); err != nil {
			diags.Add(diag.StateUnreadable.As("Failed to create workspace").New(diag.Error, "%s.", err))
			return WorkspaceSame, diags
		}
		change = WorkspaceMade
	}
	return change, append(diags, d.chooseWorkspace(name)...)
}

// DeleteWorkspace deletes a workspace with its state, which has to be empty unless forced. It
// reports how many objects are left without management.
func (d *Keeper) DeleteWorkspace(ctx context.Context, name string, force bool, o Options) (left int, diags diag.List) {
	current, diags := d.place.Workspace()
	if diags.HasErrors() {
		return 0, diags
	}
	if name == storage.DefaultWorkspace {
		return 0, diag.StateUnreadable.As("Failed to delete workspace").List("cannot delete default state")
	}
	b, names, more := d.workspaces(ctx)
	if diags.Append(more); diags.HasErrors() {
		return 0, diags
	}
	switch {
	case !slices.Contains(names, name):
		diags.Add(WorkspaceMissing.As("Workspace \""+name+"\" doesn't exist.").New(diag.Error, "Use \"%s workspace list\" to see which there are.%s", d.place.Program, suggest.Ask(name, names)))
		return 0, diags
	case name == current:
		diags.Add(diag.BadWorkspace.As("Workspace \""+name+"\" is your active workspace.").New(diag.Error, "You cannot delete the currently active workspace. Please switch to another workspace and try again."))
		return 0, diags
	}
	s, more := d.StateIn(ctx, b, name, o, "workspace-delete")
	if diags.Append(more); s == nil {
		return 0, diags
	}
	left = len(s.Snapshot().Objects)
	doubts := s.Doubts()
	s.Unlock() // it may be a file beside the state
	if len(doubts) > 0 {
		// Also with force: that says that what the state has is known to be left.
		diags.Add(diag.InDoubt.New(diag.Error, "Workspace %q has %d objects in doubt: an earlier run may have created them, and only its journal knows, which would be deleted with the workspace. Select the workspace, then list and resolve them with:\n    %s recover", name, len(doubts), d.place.Program))
		return 0, diags
	}
	if left > 0 && !force {
		diags.Add(diag.BadWorkspace.As("Workspace is not empty").New(diag.Error, "Workspace %q is currently tracking %d resource instances. Deleting it would leave them without management. Destroy them first, or use -force to delete the workspace nevertheless.", name, left))
		return 0, diags
	}
	if err := b.DeleteWorkspace(ctx, name); err != nil {
		diags.Add(diag.StateUnreadable.As("Failed to delete workspace").New(diag.Error, "%s.", err))
	}
	return left, diags
}
