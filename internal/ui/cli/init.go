package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/packages"
	"weir.dev/weir/internal/workspace"
)

var initCommand = &command{
	Name:     "init",
	Synopsis: "Prepare your working directory for other commands",
	Long:     "Initializes the backend, fetches modules and installs providers. You can run it again safely.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		i := &initializing{env: e}
		i.Register(fs)
		commands.RegisterJSON(fs, e.Screen)
		flags.Input(fs, &e.input)
		e.registerTests(fs)
		var all choosing
		all.registerAll(fs)
		return func(ctx context.Context, _ []string) int {
			if all.chosen() {
				return i.runAll(ctx, &all)
			}
			return i.run(ctx)
		}
	},
}

// initializing is init under way, with its flags.
type initializing struct {
	env *env
	flags.Init
}

func (i *initializing) run(ctx context.Context) int {
	if code := i.env.Start(); code != 0 {
		return code
	}
	return i.initialize(ctx)
}

// initialize prepares the directory.
func (i *initializing) initialize(ctx context.Context) int {
	if diags := i.Init.Choose(i.env.JSON); diags != nil {
		return i.env.Diags(diags)
	}
	if i.FromModule != "" {
		if i.env.Diags(i.env.directory.Place.CheckEmpty()) != 0 {
			return 1
		}
		i.tell("copying_configuration_message", "%s from %q...\n", i.env.Pen().Paint("Copying configuration", ansi.Bold), i.FromModule)
		if i.env.Diags(i.env.directory.CopyModule(ctx, i.FromModule)) != 0 {
			return 1
		}
	}

	nothing, diags := i.env.directory.HasNothing(i.env.tests)
	switch {
	case i.env.Diags(diags) != 0:
		return 1
	case nothing:
		i.tell("output_init_empty_message", "weir initialized in an empty directory!\n\nThe directory has no configuration files. You may begin working with weir\nimmediately by creating configuration files.\n")
		return 0
	}
	if i.env.Diags(i.options().Run(ctx, i)) != 0 {
		return 1
	}
	i.success()
	return 0
}

// options are what the flags say.
func (i *initializing) options() workspace.Init {
	return workspace.Init{
		Dir: i.env.directory, Vars: i.Vars, State: i.State.Options(), Tests: i.env.tests,
		Backend: i.Backend, BackendConfig: i.BackendConfig, Reconfigure: i.Reconfigure, Migrate: i.MigrateState,
		Modules: i.Get, Upgrade: i.Upgrade, PluginDirs: i.PluginDirs, ReadOnlyLocks: i.LockMode == "readonly",
	}
}

// tell says something about the progress, to people or in the stream. Programs
// know messages of Terraform by a code; what has none is only for the log.
func (i *initializing) tell(code, format string, args ...any) {
	if stream := i.env.Stream; stream != nil {
		text := ansi.Unwrap(strings.TrimPrefix(strings.TrimSpace(fmt.Sprintf(format, args...)), "- "))
		switch {
		case i.env.Dialect == dialect.OpenTofu:
			stream.Info(text, "", nil)
		case code == "":
			stream.Log(text)
		default:
			stream.Info(text, "init_output", map[string]any{"message_code": code})
		}
	}
	if !i.env.JSON {
		i.env.Say(format, args...)
	}
}

func (i *initializing) heading(code, text string) {
	if i.env.JSON {
		i.tell(code, "%s", text)
		return
	}
	i.env.Say("\n%s\n", i.env.Pen().Paint(text, ansi.Bold))
}

// Begins implements workspace.Initializer.
func (i *initializing) Begins(p workspace.Part) {
	switch {
	case p == workspace.BackendPart:
		i.heading("initializing_backend_message", "Initializing the backend...")
	case p == workspace.ProvidersPart:
		i.heading("initializing_provider_plugin_message", "Initializing provider plugins...")
	case i.Upgrade:
		i.heading("upgrading_modules_message", "Upgrading modules...")
	default:
		i.heading("initializing_modules_message", "Initializing modules...")
	}
}

// BackendSet implements workspace.Initializer.
func (i *initializing) BackendSet(kind string) {
	i.tell("backend_configured_success", "\nSuccessfully configured the backend %q! weir will automatically\nuse this backend unless the backend configuration changes.\n", kind)
}

// BackendUnset implements workspace.Initializer.
func (i *initializing) BackendUnset(kind string) {
	i.tell("backend_configured_unset", "\nSuccessfully unset the backend %q. weir will now operate locally.\n", kind)
}

// Copy implements workspace.Initializer.
func (i *initializing) Copy(ctx context.Context, c workspace.Copies) (bool, error) {
	q := question{
		query:       "Do you want to copy existing state to the new backend?",
		description: fmt.Sprintf("There is state in the %q backend, and none of it in the newly configured %q backend. Do you want to copy it there? Enter \"yes\" to copy and \"no\" to start with an empty state.", c.From, c.To),
	}
	if c.Overwrites {
		q.description = fmt.Sprintf("Both the %q backend and the newly configured %q backend have state. Do you want to overwrite the state in the new backend? Enter \"yes\" to copy and \"no\" to use what is there.", c.From, c.To)
	}
	if c.States > 1 {
		q.query = fmt.Sprintf("Do you want to migrate all workspaces to %q?", c.To)
	}
	if i.ForceCopy {
		return true, nil
	}
	answer, err := i.env.ask(ctx, q)
	return answer == "yes", err
}

// Choose implements workspace.Initializer.
func (i *initializing) Choose(ctx context.Context, current string, names []string) (string, error) {
	return i.env.ask(ctx, question{
		query:       fmt.Sprintf("The currently selected workspace (%s) does not exist.", current),
		description: "Enter the name of one of these workspaces to select it:\n" + strings.Join(names, "\n"),
	})
}

// Chosen implements workspace.Initializer.
func (i *initializing) Chosen(workspace string) {
	i.tell("", "The selected workspace doesn't exist here; now using workspace %q.\n", workspace)
}

// Module implements workspace.Initializer.
func (i *initializing) Module(line string) { i.tell("", "%s\n", line) }

// Locked implements workspace.Initializer.
func (i *initializing) Locked(first bool) {
	if first {
		i.tell("lock_info", "\nweir has created a lock file %s to record the provider\nselections it made above. Include this file in your version control repository\nso that weir can guarantee to make the same selections by default when\nyou run \"%s\" in the future.\n", lockfile.Name, i.env.Run(i.env.program, "init"))
		return
	}
	i.tell("dependencies_lock_changes_info", "\nweir has made some changes to the provider dependency selections recorded\nin the %s file. Review those changes and commit them to your\nversion control system if they represent changes you intended to make.\n", lockfile.Name)
}

// Provider implements workspace.Initializer.
func (i *initializing) Provider(ev install.Event) {
	if name := i.env.Dialect.Registry().Display(ev.Provider); ev.Kind == install.Downloading {
		i.env.Download(name+" v"+ev.Version, ev.Done, ev.Size, ev.Over)
	} else if text := packages.Installing(name, ev); text != "" {
		i.tell("", "- %s\n", text)
	}
}

func (i *initializing) success() {
	i.tell("output_init_success_message", "\n%s\n", i.env.Pen().Paint("weir has been successfully initialized!", ansi.Bold, ansi.Green))
	if i.env.Automation {
		return
	}
	i.tell("output_init_success_cli_message", "\nYou may now begin working with weir. Try running \"%s plan\" to see\nany changes that are required for your infrastructure. All commands\nshould now work.\n\nIf you ever set or change modules or the backend, run this command again\nto reinitialize your working directory. If you forget, other commands will\ndetect it and remind you.\n", i.env.program)
}
