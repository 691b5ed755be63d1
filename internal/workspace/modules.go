package workspace

import (
	"context"
	"sync"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/module/fetch"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
)

// A moduleInstaller installs modules and reports each that wasn't there.
type moduleInstaller struct {
	*module.Installer
	dir     *Directory
	tell    func(line string)
	current string // key of the module that is being installed
	seen    map[string]bool
}

// moduleInstaller is one that reports lines of what it does.
func (d *Directory) moduleInstaller(upgrade bool, tell func(line string)) (*moduleInstaller, diag.List) {
	manifest, err := module.ReadManifest(d.Place.Files(), d.Place.DataName())
	if err != nil {
		manifest = module.Manifest{} // all modules are found again
	}
	m := &moduleInstaller{
		Installer: &module.Installer{Files: d.Place.Files(), DataDir: d.Place.DataDir(), Manifest: manifest, Upgrade: upgrade, Dialect: d.Place.Dialect},
		dir:       d, tell: tell, seen: map[string]bool{},
	}
	var diags diag.List
	m.Fetcher, diags = d.Fetcher(m.begin)
	return m, diags
}

// resolve installs the module behind a call.
func (m *moduleInstaller) resolve(ctx context.Context, r module.Request) (string, diag.List) {
	m.dir.hide(r.Source)
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

// hide keeps what lets somebody in out of what is reported about a module's source.
func (d *Directory) hide(source string) {
	for _, text := range sameorigin.Secrets(source) {
		d.Place.Secrets.AddText(text)
	}
}

// begin reports a package that is about to be fetched.
func (m *moduleInstaller) begin(pkg, version string) {
	if version != "" {
		pkg += " " + version
	}
	m.dir.hide(pkg)
	m.tell("Downloading " + m.dir.Place.Secrets.Mask(pkg) + " for " + m.current + "...")
}

// localModules finds local modules where they are, and others among those that are
// installed, where files aren't those of a directory in which init was run. It is nil
// for directories.
func (d *Directory) localModules(files module.Files) func(context.Context, module.Request) (string, diag.List) {
	if d.Place.FS == nil && d.Place.Unsaved == nil {
		return nil
	}
	return d.ModulesInPlace(files)
}

// ModulesInPlace finds local modules where they are, and others among those that are
// installed.
func (d *Directory) ModulesInPlace(files module.Files) func(context.Context, module.Request) (string, diag.List) {
	manifest, err := module.ReadManifest(files, d.Place.DataName())
	if err != nil {
		manifest = module.Manifest{} // what isn't local isn't installed
	}
	local := &module.Installer{Files: files, DataDir: d.Place.DataName(), Manifest: module.Manifest{}, Dialect: d.Place.Dialect}
	var mu sync.Mutex
	return func(ctx context.Context, r module.Request) (string, diag.List) {
		mu.Lock()
		defer mu.Unlock()
		if module.IsLocal(r.Source) {
			return local.Install(ctx, r)
		}
		return manifest.Find(r.Key, r.Source, r.Constraint, d.Place.Dialect.Registry(), r.Range)
	}
}

// note writes down the modules that are used.
func (m *moduleInstaller) note(used module.Manifest) diag.List {
	if err := used.Write(m.dir.Place.DataDir()); err != nil {
		return diag.Unwritable.As("Failed to note installed modules").List("%s.", err)
	}
	return nil
}

// LoadModules loads the configuration and its tests as far as their declarations
// go; with get it installs modules on the way and notes them.
func (d *Directory) LoadModules(ctx context.Context, inputs map[string]module.VariableInput, tests string, get, upgrade bool, tell func(line string)) (*Tested, diag.List) {
	world, diags := d.World(ctx, Loading{})
	if diags.HasErrors() {
		return nil, diags
	}
	options := engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: d.Place.Files()}
	var installer *moduleInstaller
	if get {
		if installer, diags = d.moduleInstaller(upgrade, tell); diags.HasErrors() {
			return nil, diags
		}
		options.Resolve = installer.resolve
	}
	all, diags := Tests{d, tests}.loadAll(ctx, options)
	diags = diags.WithoutUses()
	if all.config == nil {
		return nil, diags
	}
	diags.Append(engine.CheckVersions(d.Place.Dialect, all.config.Tree))
	if installer != nil && len(installer.seen) > 0 {
		kept := module.Manifest{"": {Dir: "."}}
		if diags.HasErrors() {
			kept = installer.Manifest // which of them are used isn't known
		}
		for _, key := range all.keys {
			kept[key] = installer.Manifest[key]
		}
		diags.Append(installer.note(kept))
	}
	return all, diags
}

// Fetcher brings modules from elsewhere.
func (d *Directory) Fetcher(begin func(pkg, version string)) (module.Fetcher, diag.List) {
	config, environment, diags := d.Place.UserSettings()
	if diags.HasErrors() {
		return nil, diags
	}
	return fetch.New(fetch.Options{
		Tokens:   cliconfig.NewCredentials(config, environment.PluginDirs(d.Place.OriginalDir)),
		Services: config.Hosts,
		Retries:  config.Registry.Retries,
		Timeout:  config.Registry.Timeout,
		Version:  d.Place.Dialect.Version(),
		Environ:  environment.All,
		Begin:    begin,
		HTTP:     useragent.Default(d.Place.Getenv),
		Silence:  d.Place.Silence(),
		Buckets:  d.Place.Bucket,
		Login: func(ctx context.Context, from ociregistry.Repository) (ociregistry.Login, error) {
			return config.ContainerLogin(ctx, environment, from)
		},
	}), nil
}
