package cli

import (
	"context"
	"flag"
	"os"
	"strings"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/backend"
	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testfile"
	"weir.dev/weir/internal/view/style"
)

var initCommand = &command{
	name: "init", main: true,
	synopsis: "Prepare your working directory for other commands",
	long:     "Initializes the backend, fetches modules and installs providers. It is safe to run it again: what is there already stays.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		i := &initializing{env: e}
		i.register(fs)
		return func(ctx context.Context, _ []string) int { return i.run(ctx) }
	},
}

// initializing has the flags of init.
type initializing struct {
	*env
	state stateFlags
	vars  varFlags

	backend, cloud, get, upgrade         bool
	reconfigure, migrateState, forceCopy bool
	backendConfig, pluginDirs            texts
	lockMode, fromModule                 string

	prog   *program.Program
	inputs map[string]engine.VariableInput
}

func (i *initializing) register(fs *flag.FlagSet) {
	i.state.registerLock(fs)
	i.vars.register(fs)
	fs.BoolVar(&i.env.json, "json", false, "Print one JSON object a line, for programs.")
	fs.StringVar(&i.jsonInto, "json-into", "", "Write what -json prints to `FILE`, beside the text for people.")
	i.inputFlag(fs)
	remoteVersion(fs)
	fs.BoolVar(&i.backend, "backend", true, "Don't initialize the backend; use what was initialized before.")
	fs.BoolVar(&i.cloud, "cloud", true, "")
	fs.Var(&i.backendConfig, "backend-config", "Complete the backend block: a `NAME=VALUE`, or a file with such lines. May be repeated.")
	fs.BoolVar(&i.reconfigure, "reconfigure", false, "Use the backend as it is configured now, whatever was initialized before. No state is copied.")
	fs.BoolVar(&i.migrateState, "migrate-state", false, "Copy states from the backend that was initialized before to the one that is configured now.")
	fs.BoolVar(&i.forceCopy, "force-copy", false, "Answer yes to all questions about copying states. Implies -migrate-state.")
	fs.BoolVar(&i.get, "get", true, "Don't fetch modules.")
	fs.BoolVar(&i.upgrade, "upgrade", false, "Take the newest versions that the constraints allow, whatever the lock file selects.")
	fs.Var(&i.pluginDirs, "plugin-dir", "Install providers only from the mirror at `DIR`. May be repeated.")
	fs.StringVar(&i.lockMode, "lockfile", "", "What may be done to the dependency lock file: the only `MODE` is readonly.")
	fs.StringVar(&i.fromModule, "from-module", "", "Begin with a copy of the module at `SOURCE` in an empty directory.")
	i.registerTests(fs)
}

func (i *initializing) run(ctx context.Context) int {
	if code := i.startStream(); code != 0 {
		return code
	}
	if i.forceCopy {
		i.migrateState = true
	}
	switch {
	case i.migrateState && i.reconfigure:
		return i.fail("Wrong combination of options", "The -migrate-state and -reconfigure options are mutually-exclusive")
	case i.migrateState && i.env.json && !i.forceCopy:
		return i.fail("Wrong combination of options", "The -migrate-state option asks questions, which -json rules out. Use -force-copy with it.")
	case i.lockMode != "" && i.lockMode != "readonly":
		return i.fail("Failed to parse command-line flags", "-lockfile has to be readonly, not %q.", i.lockMode)
	case i.lockMode == "readonly" && i.upgrade:
		return i.fail("Invalid init options", "The -upgrade flag conflicts with -lockfile=readonly.")
	}
	i.backend = i.backend && i.cloud
	if i.fromModule != "" {
		if diags := i.copyModule(ctx); i.diags(diags) != 0 {
			return 1
		}
	}

	names, err := module.Disk{}.List(".")
	if err != nil {
		return i.fail("Failed to read directory", "%s.", err)
	}
	if module.IsEmpty(names, i.dialect) && len(testfile.Find(module.Disk{}, ".", i.tests, i.dialect)) == 0 {
		i.tell("output_init_empty_message", "weir initialized in an empty directory!\n\nThe directory has no configuration files. You may begin working with weir\nimmediately by creating configuration files.\n")
		return 0
	}
	if code := i.prepare(ctx); code != 0 {
		return code
	}
	i.success()
	return 0
}

// tell says something about the progress, to people or in the stream. Programs
// know messages of Terraform by a code; what has none is only for the log.
func (i *initializing) tell(code, format string, args ...any) {
	if stream := i.env.stream; stream != nil {
		text := unwrapped(strings.TrimPrefix(trimmed(format, args...), "- "))
		switch {
		case i.dialect == dialect.OpenTofu:
			stream.Info(text, "", nil)
		case code == "":
			stream.Log(text)
		default:
			stream.Info(text, "init_output", map[string]any{"message_code": code})
		}
	}
	if !i.env.json {
		i.say(format, args...)
	}
}

// unwrapped is text whose paragraphs are lines.
func unwrapped(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for n, p := range paragraphs {
		paragraphs[n] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

func (i *initializing) heading(code, text string) {
	if i.env.json {
		i.tell(code, "%s", text)
		return
	}
	i.say("\n%s\n", i.pen().Paint(text, style.Bold))
}

// prepare does the three parts of init.
func (i *initializing) prepare(ctx context.Context) int {
	var diags diag.List
	if i.inputs, diags = i.directory.Inputs(i.vars); diags.HasErrors() {
		return i.diags(diags)
	}
	prog, more := i.directory.Root()
	if versions := i.directory.CheckVersions(&program.Tree{Program: prog}); versions.HasErrors() {
		return i.diags(versions)
	}
	diags.Append(operation.Declared(more).Only(diag.Error))
	if diags.HasErrors() {
		return i.diags(diags)
	}
	i.prog = prog
	var current *backend.Backend
	if i.backend {
		i.heading("initializing_backend_message", "Initializing the backend...")
		current, more = i.initBackend(ctx)
		diags.Append(more)
	} else {
		current, _ = i.directory.InitializedBackend(prog, i.inputs)
	}
	if diags.HasErrors() {
		return i.diags(diags)
	}
	all, more := i.initModules(ctx)
	diags.Append(more)
	if diags.HasErrors() {
		return i.diags(diags)
	}
	if current != nil {
		diags.Append(i.selectWorkspace(ctx, current))
	}
	diags.Append(i.initProviders(ctx, all.Requirements, current))
	return i.diags(diags)
}

// initModules loads the whole configuration and installs what it calls.
func (i *initializing) initModules(ctx context.Context) (*operation.Tested, diag.List) {
	if len(i.prog.Calls) > 0 && i.get {
		if i.upgrade {
			i.heading("upgrading_modules_message", "Upgrading modules...")
		} else {
			i.heading("initializing_modules_message", "Initializing modules...")
		}
	}
	return i.directory.LoadModules(ctx, i.inputs, i.tests, i.get, i.upgrade, func(line string) { i.tell("", "%s\n", line) })
}

// initProviders installs what the configuration and the state need.
func (i *initializing) initProviders(ctx context.Context, needed func(*state.Snapshot) install.Requirements, b *backend.Backend) diag.List {
	reqs := needed(nil)
	if b != nil {
		if s, _ := i.directory.SelectedState(ctx, b, operation.StateOptions{}, ""); s != nil && s.Prior() != nil {
			reqs = needed(s.Prior())
		}
	}
	config, environment, diags := i.directory.UserSettings()
	sources, more := i.directory.ProviderSources(config)
	diags.Append(more)
	locks, more := lockfile.Read(lockfile.Name)
	diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	i.heading("initializing_provider_plugin_message", "Initializing provider plugins...")
	before := locks.Clone()
	locks.Adopt(i.dialect.Registry())
	next, more := install.Install(ctx, install.Options{
		Dir:          i.directory.Memory().Providers(),
		Locks:        locks,
		Requirements: reqs,
		Registry:     i.dialect.Registry(),
		Config:       config,
		Tokens:       cliconfig.NewCredentials(config, environment.PluginDirs(i.originalDir)),
		PluginDirs:   i.pluginDirs,
		Implied:      environment.PluginDirs("."),
		Upgrade:      i.upgrade,
		Builtin:      map[addr.Provider]bool{builtin.Address: true},
		External:     sources.External,
		Events:       i.event,
	})
	diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	if i.lockMode == "readonly" {
		diags.Append(install.ReadOnly(before, next))
		return diags
	}
	if before.Equal(next) {
		return diags
	}
	if err := next.Write(lockfile.Name, i.dialect.Command()); err != nil {
		diags.Errorf("Failed to write the dependency lock file", "%s.", err)
		return diags
	}
	if before.Empty() {
		i.tell("lock_info", "\nweir has created a lock file %s to record the provider\nselections it made above. Include this file in your version control repository\nso that weir can guarantee to make the same selections by default when\nyou run \"%s init\" in the future.\n", lockfile.Name, i.program)
	} else {
		i.tell("dependencies_lock_changes_info", "\nweir has made some changes to the provider dependency selections recorded\nin the %s file. Review those changes and commit them to your\nversion control system if they represent changes you intended to make.\n", lockfile.Name)
	}
	return diags
}

// event tells of one step of the installation of providers.
func (i *initializing) event(ev install.Event) {
	name := i.dialect.Registry().Display(ev.Provider)
	switch ev.Kind {
	case install.BuiltinAvailable:
		i.tell("", "- %s is built in to weir\n", name)
	case install.Reusing:
		i.tell("", "- Reusing previous version of %s from the dependency lock file\n", name)
	case install.FindingLatest:
		i.tell("", "- Finding latest version of %s...\n", name)
	case install.FindingMatching:
		i.tell("", "- Finding %s versions matching %q...\n", name, ev.Constraints)
	case install.AlreadyInstalled:
		if ev.Shared {
			i.tell("", "- Detected previously-installed %s v%s in the shared cache directory\n", name, ev.Version)
		} else {
			i.tell("", "- Using previously-installed %s v%s\n", name, ev.Version)
		}
	case install.Installing:
		if ev.Shared {
			i.tell("", "- Installing %s v%s to the shared cache directory...\n", name, ev.Version)
		} else {
			i.tell("", "- Installing %s v%s...\n", name, ev.Version)
		}
	case install.Installed:
		if ev.Authentication == install.SignatureSkipped {
			i.tell("", "- Installed %s v%s. Signature validation was skipped due to the registry not containing GPG keys for this provider\n", name, ev.Version)
			return
		}
		key := ""
		if ev.KeyID != "" {
			key = ", key ID " + ev.KeyID
		}
		i.tell("", "- Installed %s v%s (%s%s)\n", name, ev.Version, ev.Authentication, key)
	case install.Linked:
		i.tell("", "- Using %s v%s from the shared cache directory\n", name, ev.Version)
	}
}

func (i *initializing) success() {
	i.tell("output_init_success_message", "\n%s\n", i.pen().Paint("weir has been successfully initialized!", style.Bold, style.Green))
	if i.inAutomation() {
		return
	}
	i.tell("output_init_success_cli_message", "\nYou may now begin working with weir. Try running \"%s plan\" to see\nany changes that are required for your infrastructure. All commands\nshould now work.\n\nIf you ever set or change modules or the backend, run this command again\nto reinitialize your working directory. If you forget, other commands will\ndetect it and remind you.\n", i.program)
}

var _ = os.Args
