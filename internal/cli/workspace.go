package cli

import (
	"context"
	"flag"
	"os"
	"slices"

	"weir.dev/weir/internal/backend"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/statefile"
	"weir.dev/weir/internal/storage"
)

var workspaceCommands = []*command{
	{name: "workspace", synopsis: "Workspace management", long: "Each workspace has a state of its own for the same configuration."},
	{
		name: "workspace list", synopsis: "List Workspaces",
		setup: func(e *env, fs *flag.FlagSet) runner {
			asJSON := fs.Bool("json", false, "Print a JSON object.")
			return func(ctx context.Context, _ []string) int { return e.workspaceList(ctx, *asJSON) }
		},
	},
	{
		name: "workspace show", synopsis: "Show the name of the current workspace",
		setup: func(e *env, _ *flag.FlagSet) runner {
			return func(context.Context, []string) int {
				name, diags := e.directory.Workspace()
				if e.diags(diags) != 0 {
					return 1
				}
				e.say("%s\n", name)
				return 0
			}
		},
	},
	{
		name: "workspace new", args: "NAME", min: 1, max: 1, synopsis: "Create a new workspace",
		setup: func(e *env, fs *flag.FlagSet) runner {
			var f stateFlags
			f.registerLock(fs)
			from := fs.String("state", "", "Begin with a copy of the state file at `PATH`.")
			return func(ctx context.Context, args []string) int { return e.workspaceNew(ctx, args[0], *from, f) }
		},
	},
	{
		name: "workspace select", args: "NAME", min: 1, max: 1, synopsis: "Select a workspace",
		setup: func(e *env, fs *flag.FlagSet) runner {
			create := fs.Bool("or-create", false, "Create the workspace if there is none of that name.")
			return func(ctx context.Context, args []string) int { return e.workspaceSelect(ctx, args[0], *create) }
		},
	},
	{
		name: "workspace delete", args: "NAME", min: 1, max: 1, synopsis: "Delete a workspace",
		setup: func(e *env, fs *flag.FlagSet) runner {
			var f stateFlags
			f.registerLock(fs)
			force := fs.Bool("force", false, "Delete the workspace even if its state has objects, which then nobody manages.")
			return func(ctx context.Context, args []string) int { return e.workspaceDelete(ctx, args[0], *force, f) }
		},
	},
}

// workspaces opens the backend and lists its workspaces.
func (e *env) workspaces(ctx context.Context) (*backend.Backend, []string, int) {
	b, diags := e.directory.CurrentBackend()
	if e.diags(diags) != 0 || b == nil {
		return nil, nil, 1
	}
	names, err := b.Workspaces(ctx)
	if err != nil {
		return nil, nil, e.fail("Failed to list workspaces", "%s.", err)
	}
	return b, names, 0
}

func (e *env) workspaceList(ctx context.Context, asJSON bool) int {
	_, names, code := e.workspaces(ctx)
	if code != 0 {
		return code
	}
	current, diags := e.directory.Workspace()
	if e.diags(diags) != 0 {
		return 1
	}
	if asJSON {
		type entry struct {
			Name      string `json:"name"`
			IsCurrent bool   `json:"is_current"`
		}
		list := []entry{}
		for _, name := range names {
			list = append(list, entry{name, name == current})
		}
		return e.printJSON(struct {
			FormatVersion string  `json:"format_version"`
			Workspaces    []entry `json:"workspaces"`
		}{"1.0", list})
	}
	for _, name := range names {
		mark := "  "
		if name == current {
			mark = "* "
		}
		e.say("%s%s\n", mark, name)
	}
	e.say("\n")
	if e.vars["TF_WORKSPACE"] != "" {
		e.say("The active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n")
	}
	return 0
}

// selectable refuses names that can't be, and selecting at all while the
// environment decides.
func (e *env) selectable(name string) int {
	if e.vars["TF_WORKSPACE"] != "" && e.vars["TF_WORKSPACE"] != name {
		return e.fail("The selected workspace is overridden using the TF_WORKSPACE environment variable", "To select a workspace, change or unset that variable.")
	}
	if !operation.ValidWorkspace(name) {
		return e.fail("Invalid workspace name", "The workspace name %q is not allowed: %s", name, operation.WorkspaceNames)
	}
	return 0
}

func (e *env) choose(name string) int {
	if err := e.directory.Memory().SetWorkspace(name); err != nil {
		return e.fail("Failed to select workspace", "%s.", err)
	}
	return 0
}

func (e *env) workspaceNew(ctx context.Context, name, from string, f stateFlags) int {
	if code := e.selectable(name); code != 0 {
		return code
	}
	b, names, code := e.workspaces(ctx)
	if code != 0 {
		return code
	}
	if slices.Contains(names, name) {
		return e.fail("Workspace \""+name+"\" already exists", "Use \"%s workspace select %s\" to switch to it.", e.program, name)
	}
	if err := b.CreateWorkspace(ctx, name); err != nil {
		return e.fail("Failed to create workspace", "%s.", err)
	}
	if from != "" {
		if code := e.copyInto(ctx, b, name, from, f); code != 0 {
			return code
		}
	}
	if code := e.choose(name); code != 0 {
		return code
	}
	e.say("Created and switched to workspace %q!\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"%s plan\" weir will not see any existing state\nfor this configuration.\n", name, e.program)
	return 0
}

// copyInto begins a workspace with a state from a file.
func (e *env) copyInto(ctx context.Context, b *backend.Backend, name, from string, f stateFlags) int {
	data, err := os.ReadFile(from)
	if err != nil {
		return e.fail("Failed to read the state to copy", "%s: %s.", from, diag.Cause(err))
	}
	data, diags := e.directory.OpenSealed(data)
	if e.diags(diags) != 0 {
		return 1
	}
	snapshot, diags := statefile.Read(data, from)
	if e.diags(diags) != 0 {
		return 1
	}
	s, diags := e.directory.OpenState(b, name, f.options())
	if s != nil {
		diags.Append(e.directory.Lock(ctx, s, "workspace-new", f.options()))
	}
	if e.diags(diags) != 0 {
		return 1
	}
	if err := s.Put(ctx, snapshot); err != nil {
		return e.fail("Failed to write state", "%s.", err)
	}
	return 0
}

func (e *env) workspaceSelect(ctx context.Context, name string, create bool) int {
	if code := e.selectable(name); code != 0 {
		return code
	}
	current, diags := e.directory.Workspace()
	if e.diags(diags) != 0 {
		return 1
	}
	b, names, code := e.workspaces(ctx)
	if code != 0 {
		return code
	}
	if name == current && slices.Contains(names, name) {
		return e.choose(name)
	}
	if !slices.Contains(names, name) {
		if !create {
			return e.fail("Workspace \""+name+"\" doesn't exist.", "You can create this workspace with the \"new\" subcommand or include the \"-or-create\" flag with the \"select\" subcommand.")
		}
		if err := b.CreateWorkspace(ctx, name); err != nil {
			return e.fail("Failed to create workspace", "%s.", err)
		}
	}
	if code := e.choose(name); code != 0 {
		return code
	}
	if !slices.Contains(names, name) {
		e.say("Created and switched to workspace %q!\n", name)
		return 0
	}
	e.say("Switched to workspace %q.\n", name)
	return 0
}

func (e *env) workspaceDelete(ctx context.Context, name string, force bool, f stateFlags) int {
	current, diags := e.directory.Workspace()
	if e.diags(diags) != 0 {
		return 1
	}
	if name == storage.DefaultWorkspace {
		return e.fail("Failed to delete workspace", "cannot delete default state")
	}
	b, names, code := e.workspaces(ctx)
	if code != 0 {
		return code
	}
	switch {
	case !slices.Contains(names, name):
		return e.fail("Workspace \""+name+"\" doesn't exist.", "Use \"%s workspace list\" to see which there are.", e.program)
	case name == current:
		return e.fail("Workspace \""+name+"\" is your active workspace.", "You cannot delete the currently active workspace. Please switch to another workspace and try again.")
	}
	s, diags := e.directory.StateIn(ctx, b, name, f.options(), "workspace-delete")
	if e.diags(diags) != 0 {
		return 1
	}
	full := s.Prior() != nil && len(s.Prior().Objects) > 0
	if full && !force {
		return e.fail("Workspace is not empty", "Workspace %q is currently tracking %d resource instances. Deleting it would leave them without management. Destroy them first, or use -force to delete the workspace nevertheless.", name, len(s.Prior().Objects))
	}
	s.Unlock() // the lock may be a file beside the state
	if err := b.DeleteWorkspace(ctx, name); err != nil {
		return e.fail("Failed to delete workspace", "%s.", err)
	}
	e.say("Deleted workspace %q!\n", name)
	if full {
		e.say("WARNING: %q was non-empty.\nThe resources managed by the deleted workspace may still exist,\nbut are no longer manageable since the state has been deleted.\n", name)
	}
	return 0
}
