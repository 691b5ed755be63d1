package workspace

import (
	"context"
	"maps"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/orphans"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Tests are the test files of a directory, those beside the configuration and those in a
// folder of tests.
type Tests struct {
	Dir    *Directory
	Folder string
}

// Open loads the configuration and the test files, and finds the providers for all. Variables of
// the root module may be given by the tests only.
func (t Tests) Open(ctx context.Context, l Loading) ([]*testfile.File, moduletest.Options, diag.List) {
	d := t.Dir
	inputs, diags := d.Place.Inputs(l.Vars)
	extra, more := t.inputs(inputs)
	diags.Append(more)
	world, more := d.World(ctx, l)
	diags.Append(more)
	guard, more := t.guard()
	diags.Append(more)
	if late, ok := world.Catalog.(*providersource.Late); ok {
		late.Guard(guard)
	}
	timeout, grace, more := d.Place.CallLimits()
	diags.Append(more)
	resolve, more := d.installed()
	diags.Append(more)
	if diags.HasErrors() {
		return nil, moduletest.Options{}, diags
	}
	o := engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: d.Place.Files(), Resolve: resolve}
	all, more := t.loadAll(ctx, o)
	// Anything that is wrong with uses of declarations is for the runs to find.
	diags.Append(more.WithoutUses())
	if !diags.HasErrors() {
		diags.Append(d.Provide(all.config, all.Requirements(nil)))
	}
	return all.files, moduletest.Options{
		Shelf: testShelf{t.states(guard)}, Program: d.Place.Program,
		World: world, Dir: ".", Files: d.Place.Files(), Inputs: inputs, TestInputs: extra, TestDir: filepath.ToSlash(filepath.Clean(t.Folder)),
		Resolve: resolve, Sources: d.Place.Sources(), Limits: engine.ApplyOptions{CallTimeout: timeout, Grace: grace},
	}, diags
}

// Subject separates the files of the configuration from what is installed for it and from what
// its tests bring along.
func (t Tests) Subject() func(file string) bool {
	data, tests := filepath.ToSlash(t.Dir.Place.DataDir())+"/", filepath.ToSlash(filepath.Clean(t.Folder))
	return func(file string) bool {
		file = filepath.ToSlash(file)
		return !strings.HasPrefix(file, data) && !strings.HasPrefix(file, tests+"/")
	}
}

// states is where the states of tests with real objects are kept.
func (t Tests) states(guard *plugin.Guard) orphans.Shelf {
	d := t.Dir
	guards := ""
	if guard != nil {
		guards = guard.Hold
	}
	return orphans.Shelf{Dir: filepath.Join(d.Place.DataDir(), "tests"), Guards: guards, OnClose: d.Place.OnClose, Open: func(files storage.Override) (*lockedstate.Session, diag.List) {
		return d.States.OpenState(d.Settings.Opener().Local(nil), storage.DefaultWorkspace, statemgr.Options{Files: files})
	}}
}

// Waiting counts the states of tests that are to be cleaned up, or that
// tests under way have.
func (t Tests) Waiting() int { return t.states(nil).Waiting() }

// Left takes the states that tests have left whose process has ended, with
// what providers have answered since.
func (t Tests) Left(ctx context.Context, catalog provider.Catalog) ([]moduletest.Left, diag.List) {
	var list []moduletest.Left
	states, diags := t.states(nil).Left(ctx)
	for _, s := range states {
		diags.Append(t.hear(ctx, s, catalog))
		list = append(list, moduletest.Left{Label: s.Label, Snapshot: s.Objects(), Outputs: s.Outputs(), Kept: s})
	}
	return list, diags
}

// testShelf has new states kept for a suite.
type testShelf struct{ orphans.Shelf }

// Begin implements moduletest.Shelf.
func (s testShelf) Begin(ctx context.Context, l testresult.Label) (moduletest.Kept, diag.List) {
	k, diags := s.Shelf.Begin(ctx, l)
	if k == nil {
		return nil, diags
	}
	return k, diags
}

// files reads the test files.
func (t Tests) files() ([]*testfile.File, diag.List) {
	d := t.Dir
	files, diags := testfile.Load(d.Place.Files(), ".", t.Folder, d.Place.Dialect)
	for _, f := range files {
		d.Place.AddSource(f.Source.Name, f.Source.Bytes)
	}
	known := d.Place.Sources()
	for _, problem := range diags {
		if problem.Subject == nil || known[problem.Subject.Filename] != nil {
			continue
		}
		if data, err := d.Place.Files().ReadFile(problem.Subject.Filename); err == nil {
			d.Place.AddSource(problem.Subject.Filename, data)
		}
	}
	return files, diags
}

// inputs are the values that the folder of tests has for variables. Those
// on the command line count more.
func (t Tests) inputs(given map[string]module.VariableInput) (map[string]module.VariableInput, diag.List) {
	in := map[string]module.VariableInput{}
	var diags diag.List
	names, err := t.Dir.Place.AutomaticFiles(t.Folder)
	if err != nil {
		return in, nil // there is no such folder
	}
	for _, name := range names {
		t.Dir.Place.InputsFrom(filepath.Join(t.Folder, name), in, &diags)
	}
	maps.DeleteFunc(in, func(name string, _ module.VariableInput) bool { return given[name].From == "argument" })
	return in, diags
}

// installed finds modules among those that init has installed.
func (d *Directory) installed() (func(context.Context, module.Request) (string, diag.List), diag.List) {
	manifest, err := module.ReadManifest(d.Place.Files(), d.Place.DataName())
	if err != nil {
		return nil, diag.Unreadable.As("Failed to read the list of installed modules").List("%s. Run \"%s\" to write it again.", err, diag.Run("init", ""))
	}
	return func(_ context.Context, r module.Request) (string, diag.List) {
		return manifest.Find(r.Key, r.Source, r.Constraint, d.Place.Dialect.Registry(), r.Range)
	}, nil
}

// A testModule is a module that a run is about in place of the one under test,
// loaded without the values that it will have.
type testModule struct {
	*engine.Config
	file *testfile.File
}

// A Tested is a configuration with its tests.
type Tested struct {
	config  *engine.Config
	files   []*testfile.File
	modules []testModule
	keys    []string // of all installed modules
}

// loadAll loads the configuration, its test files, and the modules that these
// run.
func (t Tests) loadAll(ctx context.Context, o engine.LoadOptions) (*Tested, diag.List) {
	all := &Tested{}
	var diags diag.List
	all.config, diags = engine.Load(ctx, o)
	if all.config == nil {
		return all, diags
	}
	t.Dir.Place.AddSources(all.config.Sources)
	all.keys = all.config.Installed
	diags.Append(t.load(ctx, o, all))
	return all, diags
}

// load adds the test files and the modules that these run.
func (t Tests) load(ctx context.Context, o engine.LoadOptions, all *Tested) diag.List {
	var diags, more diag.List
	all.files, diags = t.files()
	if o.Resolve == nil {
		if o.Resolve, more = t.Dir.installed(); more.HasErrors() {
			return append(diags, more...)
		}
	}
	for _, f := range all.files {
		for _, r := range f.Runs {
			if r.Module != nil {
				diags.Append(t.loadModule(ctx, o, all, f, r))
			}
		}
	}
	return diags
}

func (t Tests) loadModule(ctx context.Context, o engine.LoadOptions, all *Tested, f *testfile.File, r *testfile.Run) diag.List {
	request := moduletest.Request(o.Dir, f, r)
	dir, diags := o.Resolve(ctx, request)
	if diags.HasErrors() {
		return diags
	}
	o.Dir, o.Resolve = dir, moduletest.Prefixed(request.Key, o.Resolve)
	config, more := engine.Load(ctx, o)
	diags.Append(more.Only(diag.Error))
	if config == nil {
		return diags
	}
	t.Dir.Place.AddSources(config.Sources)
	all.keys = append(all.keys, request.Key)
	for _, key := range config.Installed {
		all.keys = append(all.keys, request.Key+"."+key)
	}
	if config.Tree != nil {
		all.modules = append(all.modules, testModule{config, f})
	}
	return diags
}

// Requirements lists the providers that the modules and the test files need, and
// a state.
func (t *Tested) Requirements(s *state.Snapshot) install.Requirements {
	reqs := providersource.Requirements(t.config.Tree, s)
	named := func(tree *program.Tree, f *testfile.File) {
		for _, p := range f.Providers {
			if source := moduletest.Provider(tree.Program, p.Local); moduletest.Needs(tree, source) {
				reqs[source] = append(reqs[source], install.Requirement{Constraint: p.Version, Range: p.Range.Ptr()})
			}
		}
	}
	for _, f := range t.files {
		if t.config.Tree != nil {
			named(t.config.Tree, f)
		}
	}
	for _, m := range t.modules {
		for p, list := range providersource.Requirements(m.Tree, nil) {
			reqs[p] = append(reqs[p], list...)
		}
		named(m.Tree, m.file)
	}
	return reqs
}
