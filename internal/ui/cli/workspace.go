package cli

import (
	"context"
	"flag"
	"strings"

	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

var workspaceCommands = []*command{
	{Name: "workspace", Synopsis: "Workspace management", Long: "Each workspace has its own state for the same configuration."},
	{
		Name: "workspace list", Synopsis: "List Workspaces", JSON: output.Either,
		Setup: func(e *env, _ *flag.FlagSet) runner {
			return func(ctx context.Context, _ []string) int { return e.workspaceList(ctx) }
		},
	},
	{
		Name: "workspace show", Synopsis: "Show the name of the current workspace",
		Setup: func(e *env, _ *flag.FlagSet) runner {
			return func(context.Context, []string) int {
				name, diags := e.directory.Place.Workspace()
				if e.Diags(diags) != 0 {
					return 1
				}
				e.Say("%s\n", name)
				return 0
			}
		},
	},
	{
		Name: "workspace new", Args: "NAME", Min: 1, Max: 1, Synopsis: "Create a new workspace", JSON: output.Messages,
		Setup: func(e *env, fs *flag.FlagSet) runner {
			var f flags.State
			f.RegisterLock(fs)
			from := fs.String("state", "", "Start with a copy of the state file at `PATH`.")
			return func(ctx context.Context, args []string) int { return e.workspaceNew(ctx, args[0], *from, f) }
		},
	},
	{
		Name: "workspace select", Args: "NAME", Min: 1, Max: 1, Synopsis: "Select a workspace", JSON: output.Messages,
		Setup: func(e *env, fs *flag.FlagSet) runner {
			create := fs.Bool("or-create", false, "Create the workspace if it doesn't exist.")
			return func(ctx context.Context, args []string) int { return e.workspaceSelect(ctx, args[0], *create) }
		},
	},
	{
		Name: "workspace delete", Args: "NAME", Min: 1, Max: 1, Synopsis: "Delete a workspace", JSON: output.Messages,
		Setup: func(e *env, fs *flag.FlagSet) runner {
			var f flags.State
			f.RegisterLock(fs)
			force := fs.Bool("force", false, "Delete the workspace even if its state has objects, which become unmanaged.")
			return func(ctx context.Context, args []string) int { return e.workspaceDelete(ctx, args[0], *force, f) }
		},
	},
}

func (e *env) workspaceList(ctx context.Context) int {
	names, current, diags := e.directory.States.Workspaces(ctx)
	if e.Diags(diags) != 0 {
		return 1
	}
	list := func() int {
		var list strings.Builder
		for _, name := range names {
			mark := "  "
			if name == current {
				mark = "* "
			}
			list.WriteString(mark + name + "\n")
		}
		e.SayAs("workspace_list", map[string]any{"workspaces": names, "current_workspace": current}, "%s\n", &list)
		if e.vars["TF_WORKSPACE"] != "" {
			e.Say("The active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n")
		}
		return 0
	}
	if e.Messaging() {
		return list()
	}
	return e.Result("list of workspaces", func() ([]byte, error) { return jsonstate.Workspaces(names, current) }, list)
}

func (e *env) workspaceNew(ctx context.Context, name, from string, f flags.State) int {
	if e.Diags(e.directory.CheckMode(ctx)) != 0 {
		return 1
	}
	if e.Diags(e.directory.States.NewWorkspace(ctx, name, from, f.Options())) != 0 {
		return 1
	}
	e.Say("Created and switched to workspace %q!\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"%s plan\" weir will not see any existing state\nfor this configuration.\n", name, e.program)
	return 0
}

func (e *env) workspaceSelect(ctx context.Context, name string, create bool) int {
	if e.Diags(e.directory.CheckMode(ctx)) != 0 {
		return 1
	}
	switch change, diags := e.directory.States.SelectWorkspace(ctx, name, create); {
	case e.Diags(diags) != 0:
		return 1
	case change == statemgr.WorkspaceMade:
		e.Say("Created and switched to workspace %q!\n", name)
	case change == statemgr.WorkspaceSwitched:
		e.Say("Switched to workspace %q.\n", name)
	}
	return 0
}

func (e *env) workspaceDelete(ctx context.Context, name string, force bool, f flags.State) int {
	if e.Diags(e.directory.CheckMode(ctx)) != 0 {
		return 1
	}
	left, diags := e.directory.States.DeleteWorkspace(ctx, name, force, f.Options())
	if e.Diags(diags) != 0 {
		return 1
	}
	e.Say("Deleted workspace %q!\n", name)
	if left > 0 {
		e.Say("WARNING: %q was non-empty.\nThe resources managed by the deleted workspace may still exist,\nbut are no longer manageable since the state has been deleted.\n", name)
	}
	return 0
}
