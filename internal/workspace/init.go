package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Init makes a directory ready for everything else: its backend, its modules and its providers.
type Init struct {
	Dir   *Directory
	Vars  []environment.Var
	State statemgr.Options
	Tests string // the directory of tests; empty for none

	// Backend: initialize the backend, or take the one that is. BackendConfig
	// completes the block.
	Backend       bool
	BackendConfig []string
	// Reconfigure takes the backend as it is configured, whatever was before;
	// Migrate copies states to it.
	Reconfigure, Migrate bool

	Modules    bool // fetch modules that aren't there
	Upgrade    bool
	PluginDirs []string // mirrors only that are asked for providers
	// ReadOnlyLocks: the dependency lock file has to have everything.
	ReadOnlyLocks bool
}

// A Part of an initialization.
type Part uint8

const (
	BackendPart Part = iota + 1
	ModulesPart
	ProvidersPart
)

// An Initializer follows an initialization and answers its questions.
type Initializer interface {
	// Begins reports which part comes now.
	Begins(Part)
	// BackendSet reports a backend that is new; Unset of one that isn't configured any more.
	BackendSet(kind string)
	BackendUnset(kind string)
	// Copy asks whether states are to be copied to the next backend. It fails where
	// that can't be known.
	Copy(ctx context.Context, c Copies) (bool, error)
	// Choose asks which workspace is to be selected, because the current one isn't
	// there.
	Choose(ctx context.Context, current string, names []string) (string, error)
	// Chosen reports which one is.
	Chosen(workspace string)
	// Module reports what is done for modules, as a line.
	Module(line string)
	// Provider reports one step of installing providers.
	Provider(install.Event)
	// Locked reports that the dependency lock file was written, for the first time.
	Locked(first bool)
}

// An initialization is an Init under way.
type initialization struct {
	Init
	told   Initializer
	prog   *program.Program
	inputs map[string]module.VariableInput
	// deployments are those of a stack; nil in the directory of a module.
	deployments []string
}

// HasNothing reports whether there is nothing to initialize: neither
// configuration nor tests.
func (d *Directory) HasNothing(tests string) (bool, diag.List) {
	names, err := d.Place.Files().List(".")
	if err != nil {
		return false, diag.Unreadable.As("Failed to read directory").List("%s.", err)
	}
	return module.IsEmpty(names, d.Place.Dialect) && len(testfile.Find(d.Place.Files(), ".", tests, d.Place.Dialect)) == 0, d.stackOnly(diag.Warning, "init")
}

// Run prepares the directory.
func (o Init) Run(ctx context.Context, told Initializer) diag.List {
	d := o.Dir
	i := &initialization{Init: o, told: told}
	var diags diag.List
	if i.inputs, diags = d.Place.Inputs(o.Vars); diags.HasErrors() {
		return diags
	}
	prog, more := d.Settings.Root()
	if versions := engine.CheckVersions(d.Place.Dialect, &program.Tree{Program: prog}); versions.HasErrors() {
		return versions
	}
	diags.Append(more.WithoutUses().Only(diag.Error))
	if diags.HasErrors() {
		return diags
	}
	i.prog = prog
	if d.modeUnchosen() {
		if sign := d.signIn(ctx, prog); sign != "" {
			return wrongMode(sign)
		}
	}
	if prog.Backend != nil && prog.Backend.Store != nil {
		diags.Append(i.storeProvider(ctx, prog.Requirements[prog.Backend.Store.Name]))
		if diags.HasErrors() {
			return diags
		}
	}
	var current *statebackend.Backend
	if o.Backend {
		told.Begins(BackendPart)
		current, more = i.backend(ctx)
		diags.Append(more)
	} else {
		current, _ = d.Settings.InitializedBackend(prog, i.inputs)
	}
	if diags.HasErrors() {
		return diags
	}
	if len(prog.Calls) > 0 && o.Modules {
		told.Begins(ModulesPart)
	}
	all, more := d.LoadModules(ctx, i.inputs, o.Tests, o.Modules, o.Upgrade, told.Module)
	diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	if current != nil {
		diags.Append(i.selectWorkspace(ctx, current))
	}
	diags.Append(i.providers(ctx, all.Requirements, current))
	return diags
}

// storeProvider installs the provider that has the states, before its state store is opened.
func (i *initialization) storeProvider(ctx context.Context, r *program.Requirement) diag.List {
	if r == nil {
		return nil // reported already
	}
	need := install.Requirement{Constraint: r.Constraints, Range: &r.Range}
	options, diags := i.Dir.Providers.Installing(install.Requirements{r.Provider: {need}})
	if diags.HasErrors() || options.External[r.Provider] || i.Dir.Place.Options.Catalog != nil {
		return diags
	}
	before := options.Locks.Clone()
	options.PluginDirs, options.Upgrade = i.PluginDirs, i.Upgrade
	made, more := install.Install(ctx, options)
	if diags.Append(more); diags.HasErrors() {
		return diags
	}
	next := before.Clone()
	lock, locked := made.Get(r.Provider)
	if !locked {
		return diags
	}
	next.Set(lock)
	switch {
	case i.ReadOnlyLocks:
		return append(diags, install.ReadOnly(before, next)...)
	case before.SamePackages(next):
		return diags
	}
	if err := next.Write(i.Dir.Place.Path(lockfile.Name), i.Dir.Place.Dialect.Command()); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write the dependency lock file").New(diag.Error, "%s.", err))
	}
	return diags
}

// providers installs what the configuration and the state need.
func (i *initialization) providers(ctx context.Context, needed func(*state.Snapshot) install.Requirements, b *statebackend.Backend) diag.List {
	reqs := needed(nil)
	if b != nil {
		if s, _ := i.Dir.States.PresentSelected(ctx, b, statemgr.Options{}); s != nil && s.Prior() != nil {
			if i.Dir.modeUnchosen() {
				e := i.Dir.evidenceOf(&program.Tree{Program: i.prog}, s.Base())
				if e.Required = reqs; e.sign() != "" {
					return wrongMode(e.sign())
				}
			}
			reqs = needed(s.Prior())
		}
	}
	options, diags := i.Dir.Providers.Installing(reqs)
	if diags.HasErrors() {
		return diags
	}
	i.told.Begins(ProvidersPart)
	before := options.Locks.Clone()
	adopted := options.Locks.Adopt(i.Dir.Place.Dialect.Registry())
	options.PluginDirs, options.Upgrade, options.Events = i.PluginDirs, i.Upgrade, i.told.Provider
	next, more := install.Install(ctx, options)
	diags.Append(more)
	switch {
	case diags.HasErrors():
		return diags
	case i.ReadOnlyLocks:
		return append(diags, install.ReadOnly(before, next)...)
	case before.SamePackages(next):
		return diags
	}
	if err := next.Write(i.Dir.Place.Path(lockfile.Name), i.Dir.Place.Dialect.Command()); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write the dependency lock file").New(diag.Error, "%s.", err))
		return diags
	}
	i.told.Locked(before.Empty())
	return append(diags, install.Followed(adopted, next)...)
}

// InstallModules installs the modules that loading asks for, and notes them. The loader gets a way to resolve calls, and returns the keys of those that are used.
func (d *Directory) InstallModules(upgrade bool, told Initializer, load func(resolve func(context.Context, module.Request) (string, diag.List)) ([]string, diag.List)) diag.List {
	told.Begins(ModulesPart)
	installer, diags := d.moduleInstaller(upgrade, told.Module)
	if diags.HasErrors() {
		return diags
	}
	used, more := load(installer.resolve)
	if diags.Append(more); diags.HasErrors() {
		return diags
	}
	kept := module.Manifest{"": {Dir: "."}}
	for _, key := range used {
		kept[key] = installer.Manifest[key]
	}
	return append(diags, installer.note(kept)...)
}

// InstallProviders installs what programs need, and what states still do.
func (d *Directory) InstallProviders(ctx context.Context, trees *program.Tree, kept []*state.Snapshot, upgrade bool, told Initializer) diag.List {
	i := &initialization{Init: Init{Dir: d, Upgrade: upgrade}, told: told}
	return i.providers(ctx, func(*state.Snapshot) install.Requirements {
		all := providersource.Requirements(trees, nil)
		for _, s := range kept {
			for p, r := range providersource.Requirements(&program.Tree{Program: &program.Program{}}, s) {
				if _, there := all[p]; !there {
					all[p] = r
				}
			}
		}
		return all
	}, nil)
}
