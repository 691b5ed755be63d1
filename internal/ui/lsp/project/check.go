package project

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/providersource"
)

// testsDir is where test files are, beside those in the directory itself.
const testsDir = "tests"

// A unit is a directory that is checked as a root module, with what one check leaves to the
// next. One check runs at a time.
type unit struct {
	dir      string
	programs engine.Programs
	kept     providersource.Kept

	running sync.Mutex

	mu      sync.Mutex
	done    bool            // it was checked
	loaded  map[string]bool // the directories of the last check
	root    string          // the root module that the directory belongs to
	rooted  time.Time       // when that was found out
	schemas map[addr.Provider]*provider.Schemas
}

func (u *unit) close() { u.kept.Close() }

// covers reports whether the last check loaded a directory.
func (u *unit) covers(dir string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.loaded[dir]
}

// rootFresh is how long a directory is taken to belong to the same root module: the search for
// it reads the state of every file in the folders, too much for every key.
const rootFresh = 3 * time.Second

// rootModule is View.Root of the unit's directory, as it was a moment ago.
func (u *unit) rootModule(ctx context.Context, v *View) string {
	u.mu.Lock()
	root, rooted := u.root, u.rooted
	u.mu.Unlock()
	if time.Since(rooted) < rootFresh && (root == "" || Initialised(root)) {
		return root
	}
	root = v.Root(ctx, u.dir)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.root, u.rooted = root, time.Now()
	return root
}

// serves reports whether one of the directories is the unit's, or was loaded by its last check.
func (u *unit) serves(open []string) bool {
	return slices.Contains(open, u.dir) || slices.ContainsFunc(open, u.covers)
}

func (u *unit) finished() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.done
}

func (p *Project) unit(dir string) *unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.units[dir]
	if u == nil {
		u = &unit{dir: dir}
		u.kept.Decoded = &p.decoded
		p.units[dir] = u
	}
	return u
}

// Units are the directories to check after a change in one: itself, those whose last check
// loaded it, and a root that init was run in if it isn't one.
func (v *View) Units(ctx context.Context, dir string) []string {
	list := []string{dir}
	v.mu.Lock()
	units := maps.Clone(v.units)
	v.mu.Unlock()
	covered := Initialised(dir)
	for _, other := range slices.Sorted(maps.Keys(units)) {
		if other != dir && units[other].covers(dir) {
			list = append(list, other)
			covered = covered || Initialised(other)
		}
	}
	open := opened(v.Docs)
	if !covered && slices.Contains(open, dir) {
		if root := v.unit(dir).rootModule(ctx, v); root != "" && !slices.Contains(list, root) {
			list = append(list, root)
		}
	}
	if !slices.Contains(open, dir) {
		// A file that another program changed has no problems that the editor shows.
		list = slices.DeleteFunc(list, func(other string) bool { return units[other] == nil || !units[other].serves(open) })
	}
	return list
}

// Needs reports whether documents need the check of a unit after a change in a directory.
func (v *View) Needs(unit, dir string) bool {
	open := opened(v.Docs)
	return slices.Contains(open, dir) || v.unit(unit).serves(open)
}

// A Checked is the result of a check.
type Checked struct {
	Diags diag.List // with absolute names of files
	Files []string  // all that were read, by absolute name
}

// Check validates a directory as a root module, with the schemas of the providers that are
// installed. With ask the providers check their configurations, too, as validate does.
func (v *View) Check(ctx context.Context, dir string, ask bool) (*Checked, bool) {
	u := v.unit(dir)
	u.running.Lock()
	defer u.running.Unlock()
	if ctx.Err() != nil {
		return nil, false
	}
	defer func() {
		u.mu.Lock()
		u.done = true
		u.mu.Unlock()
	}()
	d := v.directory(u)
	defer d.Close()
	if names, err := v.Files().List(dir); err == nil && module.HasStack(names) {
		return checkedStack(ctx, d, dir)
	}
	config, diags := workspace.Validate{Dir: d, Loading: workspace.Loading{Declared: true}, Tests: testsDir}.Run(ctx)
	if ctx.Err() != nil {
		return nil, false // what is loaded lacks modules: the unit would seem to have no others
	}
	if config != nil && config.Tree != nil && config.Tree.Program != nil {
		u.learn(ctx, config)
	}
	if ask && !diags.HasErrors() && u.external() && ctx.Err() == nil {
		again := v.directory(u)
		_, more := workspace.Validate{Dir: again, Tests: testsDir}.Run(ctx)
		diags.Append(more.Beside(diags))
		again.Close()
		u.kept.Shrink(0) // no process waits for the next time that a file is saved
	}
	if ctx.Err() != nil {
		return nil, false
	}
	return checked(d, dir, diags), true
}

func checked(d *workspace.Directory, dir string, diags diag.List) *Checked {
	out := &Checked{Diags: absolute(dir, diags)}
	for name := range d.Place.Sources() {
		out.Files = append(out.Files, join(dir, name))
	}
	slices.Sort(out.Files)
	return out
}

// checkedStack validates a stack with its deployments, without looking for states.
func checkedStack(ctx context.Context, d *workspace.Directory, dir string) (*Checked, bool) {
	s, diags := workspace.LoadStack(d)
	if !diags.HasErrors() {
		diags.Append(workspace.StackValidate{Stack: s, Deployments: s.Deployments}.Run(ctx))
	}
	return checked(d, dir, diags), ctx.Err() == nil
}

// directory is a unit's, with the texts of the documents.
func (v *View) directory(u *unit) *workspace.Directory {
	o := v.Outside
	o.Dir, o.OriginalDir, o.Unsaved = u.dir, u.dir, v.texts()
	d := workspace.New(o)
	d.Programs, d.Providers.Kept = &u.programs, &u.kept
	return d
}

// learn notes what a check loaded, and the schemas that it used.
func (u *unit) learn(ctx context.Context, config *engine.Config) {
	loaded := map[string]bool{u.dir: true}
	for name := range config.Sources {
		loaded[filepath.Dir(join(u.dir, name))] = true
	}
	schemas := map[addr.Provider]*provider.Schemas{}
	for _, p := range providersource.Providers(config.Tree) {
		if s, _ := config.World.Catalog.Schemas(ctx, p); s != nil {
			schemas[p] = s
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.loaded = loaded
	if u.schemas == nil {
		u.schemas = map[addr.Provider]*provider.Schemas{}
	}
	maps.Copy(u.schemas, schemas) // a name that is being typed hides others
}

// external reports whether the unit has a provider that runs as a process.
func (u *unit) external() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.schemas {
		if !p.IsBuiltin() {
			return true
		}
	}
	return false
}

// Schemas are those of a provider, as the last checks of the project have them; nil if none
// has. The checks of the directory come first.
func (v *View) Schemas(dir string, p addr.Provider) *provider.Schemas {
	v.mu.Lock()
	units := slices.SortedFunc(maps.Values(v.units), func(a, b *unit) int {
		switch {
		case a.dir == dir:
			return -1
		case b.dir == dir:
			return 1
		}
		return len(a.dir) - len(b.dir)
	})
	v.mu.Unlock()
	for _, u := range units {
		u.mu.Lock()
		s := u.schemas[p]
		u.mu.Unlock()
		if s != nil {
			return s
		}
	}
	return nil
}

// State is the state of a root module, if it is in a file of the machine: no other backend is
// read. It is nil if the state can't be read.
func (v *View) State(ctx context.Context, dir string) (*state.Snapshot, *engine.Config) {
	if m := v.Module(ctx, dir); m == nil || m.Program.Backend != nil && m.Program.Backend.Type != "local" {
		return nil, nil
	}
	u := v.unit(dir)
	u.running.Lock()
	defer u.running.Unlock()
	d := v.directory(u)
	defer d.Close()
	var s *lockedstate.Session
	config, s, _ := d.Look(ctx, d.Configuration(), workspace.Opening{})
	if config == nil || s == nil {
		return nil, nil
	}
	return s.Prior(), config
}

// join is a name of a check as an absolute path.
func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// absolute are diagnostics with absolute names of files.
func absolute(dir string, l diag.List) diag.List {
	out := slices.Clone(l)
	for i := range out {
		if s := out[i].Subject; s != nil {
			at := *s
			at.Filename = join(dir, at.Filename)
			out[i].Subject = &at
		}
		if c := out[i].Context; c != nil {
			at := *c
			at.Filename = join(dir, at.Filename)
			out[i].Context = &at
		}
	}
	return out
}
