package cli

import (
	"context"
	"flag"
	"slices"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/module/fetch"
	"weir.dev/weir/internal/program"
)

var getCommand = &command{
	name:     "get",
	synopsis: "Install or upgrade remote modules",
	long:     "The part of init that is about modules.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var vars varFlags
		vars.register(fs)
		update := fs.Bool("update", false, "Fetch modules again that are there already.")
		fs.BoolVar(&e.json, "json", false, "Print one JSON object a line, for programs.")
		e.registerTests(fs)
		return func(ctx context.Context, _ []string) int {
			if code := e.startStream(); code != 0 {
				return code
			}
			inputs, diags := e.inputs(vars)
			if diags.HasErrors() {
				return e.diags(diags)
			}
			_, more := e.loadModules(ctx, inputs, true, *update, func(line string) {
				if e.json {
					e.stream.Log(line)
					return
				}
				e.say("%s\n", line)
			})
			diags.Append(more)
			return e.diags(diags)
		}
	},
}

var modulesCommand = &command{
	name:     "modules",
	synopsis: "Show all declared modules in a working directory",
	setup: func(e *env, fs *flag.FlagSet) runner {
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(ctx context.Context, _ []string) int { return e.modules(ctx, *asJSON) }
	},
}

// A moduleInstaller installs modules and tells of each that wasn't there.
type moduleInstaller struct {
	*module.Installer
	tell    func(line string)
	current string // key of the module that is being installed
	seen    map[string]bool
}

// resolve installs the module behind a call.
func (m *moduleInstaller) resolve(ctx context.Context, r module.Request) (string, diag.List) {
	before, known := m.Manifest[r.Key]
	m.current = r.Key
	dir, diags := m.Installer.Install(ctx, r)
	if m.seen[r.Key] || diags.HasErrors() {
		return dir, diags
	}
	m.seen[r.Key] = true
	if !known || m.Upgrade || before != m.Manifest[r.Key] {
		m.tell("- " + r.Key + " in " + dir)
	}
	return dir, diags
}

// begin tells of a package that is about to be fetched.
func (m *moduleInstaller) begin(pkg, version string) {
	if version != "" {
		pkg += " " + version
	}
	m.tell("Downloading " + pkg + " for " + m.current + "...")
}

// loadModules loads the configuration and its tests; with get it installs modules
// on the way and notes them.
func (e *env) loadModules(ctx context.Context, inputs map[string]engine.VariableInput, get, upgrade bool, tell func(line string)) (*tested, diag.List) {
	world, diags := e.world(loading{})
	if diags.HasErrors() {
		return nil, diags
	}
	options := engine.LoadOptions{World: world, Dir: ".", Inputs: inputs}
	var installer *moduleInstaller
	if get {
		manifest, err := module.ReadManifest(module.Disk{}, e.dataDir())
		if err != nil {
			manifest = module.Manifest{} // all modules are found again
		}
		installer = &moduleInstaller{
			Installer: &module.Installer{Files: module.Disk{}, DataDir: e.dataDir(), Manifest: manifest, Upgrade: upgrade, Dialect: e.dialect},
			tell:      tell, seen: map[string]bool{},
		}
		if installer.Fetcher, diags = e.fetcher(installer.begin); diags.HasErrors() {
			return nil, diags
		}
		options.Resolve = installer.resolve
	}
	all, diags := e.loadTested(ctx, options)
	diags = declared(diags)
	if all.config == nil {
		return nil, diags
	}
	diags.Append(e.checkVersions(all.config.Tree))
	if installer != nil && len(installer.seen) > 0 {
		kept := module.Manifest{"": {Dir: "."}}
		if diags.HasErrors() {
			kept = installer.Manifest // which of them are used isn't known
		}
		for _, key := range all.keys {
			kept[key] = installer.Manifest[key]
		}
		if err := kept.Write(e.dataDir()); err != nil {
			diags.Errorf("Failed to note installed modules", "%s.", err)
		}
	}
	return all, diags
}

// declared leaves out what is wrong with uses of declarations: whatever it is, all
// that is declared can be installed.
func declared(diags diag.List) diag.List {
	return slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Use })
}

// fetcher brings modules from elsewhere.
func (e *env) fetcher(begin func(pkg, version string)) (module.Fetcher, diag.List) {
	config, environment, diags := e.settings()
	if diags.HasErrors() {
		return nil, diags
	}
	return fetch.New(fetch.Options{
		Tokens:   cliconfig.NewCredentials(config, environment.PluginDirs(e.originalDir)),
		Services: config.Hosts,
		Retries:  config.Registry.Retries,
		Timeout:  config.Registry.Timeout,
		Version:  e.dialect.Version(),
		Environ:  environment.All,
		Begin:    begin,
	}), nil
}

func (e *env) modules(ctx context.Context, asJSON bool) int {
	config, _, diags := e.load(ctx, loading{})
	if e.diags(diags) != 0 {
		return 1
	}
	type entry struct {
		Key     string `json:"key"`
		Source  string `json:"source"`
		Version string `json:"version"`
	}
	list := []entry{}
	var walk func(t *program.Tree, at addr.Module)
	walk = func(t *program.Tree, at addr.Module) {
		for _, call := range t.CallNames() {
			for _, child := range t.Of(call) {
				below := at.Child(call, addr.NoKey)
				list = append(list, entry{below.CallPath(), child.Source, child.Version})
				walk(child, below)
			}
		}
	}
	walk(config.Tree, addr.Root)
	if asJSON {
		return e.printJSON(struct {
			FormatVersion string  `json:"format_version"`
			Modules       []entry `json:"modules"`
		}{"1.0", list})
	}
	if len(list) == 0 {
		e.say("No modules found in configuration.\n")
		return 0
	}
	e.say("Modules declared by configuration:\n\n")
	for _, m := range list {
		e.say(".\n└── %q[%s] %s\n", m.Key, m.Source, m.Version)
	}
	return 0
}
