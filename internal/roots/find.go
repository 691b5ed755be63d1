package roots

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/stack"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Find finds the roots and the deployments of stacks below a directory, and the edges between them. Circles are left to Order.
// reports is how operations of a root tell.
func Find(ctx context.Context, d *workspace.Directory, reports environment.Reports) (*Estate, diag.List) {
	e := &Estate{Dir: d, states: map[Place]*Root{}}
	s, diags := readSettings(d)
	if diags.HasErrors() {
		return e, diags
	}
	e.shared = s.shared
	dirs, err := e.candidates(s, reports)
	if err != nil {
		return e, append(diags, diag.Unreadable.As("Failed to look for roots").List("%s.", diag.Cause(err))...)
	}
	for _, c := range dirs {
		if c.isRoot(s) {
			e.add(c, s, reports)
		}
		if c.stack && !c.embedded {
			diags.Append(e.addStack(c, s, reports))
		}
	}
	for _, b := range s.blocks {
		if !b.used {
			diags.Add(NoRoots.As("No root of that path").Warning(b.at, "No directory with a configuration matches %q, so this block has no effect.", b.pattern))
		}
	}
	if len(e.Roots) == 0 {
		return e, append(diags, NoRoots.List("No directory below %s has a root module: a configuration with a backend block, a provider configuration, values of variables, a lock file or a state. Name its directories in %s:\n    root \"PATH\" {}", d.Place.Seen(d.Place.Dir), SettingsFile)...)
	}
	slices.SortFunc(e.Roots, func(a, b *Root) int { return strings.Compare(a.Name, b.Name) })
	return e, append(diags, e.connect(ctx)...)
}

// A candidate is a directory with a configuration.
type candidate struct {
	path     string
	dir      *workspace.Directory
	prog     *program.Program
	marked   bool // files beside the configuration say that it is a root
	called   bool // it is a module of another candidate
	stack    bool // it has a stack, which may be embedded in another one
	embedded bool
}

// candidates are the directories with a configuration, in the order of their paths.
func (e *Estate) candidates(s *settings, reports environment.Reports) ([]*candidate, error) {
	top, err := filepath.Abs(e.Dir.Place.Dir)
	if err != nil {
		return nil, err
	}
	var list []*candidate
	at := map[string]*candidate{}
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path != top {
				return nil // what can't be read has no root
			}
			return err
		}
		if !entry.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if path != top && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || s.excludes(rel)) {
			return fs.SkipDir
		}
		names, err := (module.Disk{Root: path}).List(".")
		c := &candidate{path: rel, stack: module.HasStack(names)}
		empty := module.IsEmpty(names, e.Dir.Place.Dialect)
		if err != nil || empty && !c.stack {
			return nil
		}
		c.dir = e.Dir.RootIn(path, "", reports)
		if !empty {
			c.prog, _ = c.dir.Settings.Root()
		}
		c.marked = slices.ContainsFunc(names, func(n string) bool {
			return n == lockfile.Name || n == "terraform.tfstate" || n == "terraform.tfvars" || n == "terraform.tfvars.json" || strings.HasSuffix(n, ".auto.tfvars") || strings.HasSuffix(n, ".auto.tfvars.json")
		})
		list, at[path] = append(list, c), c
		return nil
	})
	for _, c := range list {
		for _, call := range c.calls() {
			if source := local(call); source != "" {
				if called := at[filepath.Join(top, c.path, source)]; called != nil && called != c {
					called.called = called.called || call.Kind != addr.Stack
					called.embedded = called.embedded || call.Kind == addr.Stack
				}
			}
		}
	}
	return list, err
}

// calls are those of the module and of the stack.
func (c *candidate) calls() (list []*program.Call) {
	if c.prog != nil {
		list = slices.Clone(c.prog.Calls)
	}
	if c.stack {
		if _, p, _ := (stack.Language{Dialect: c.dir.Place.Dialect}).Compile(c.dir.Place.Files(), ".", nil); p != nil {
			list = append(list, p.Calls...)
		}
	}
	return list
}

// local is the path of a module beside the one that calls it, "" for others.
func local(call *program.Call) string {
	if call.Source == nil {
		return ""
	}
	v, problems := call.Source.Value(nil)
	if problems.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	if text := v.AsString(); strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		return filepath.FromSlash(text)
	}
	return ""
}

// isRoot reports whether a directory is a root: the settings name it, it says where its state
// is, or it looks like a root and no other module calls it.
func (c *candidate) isRoot(s *settings) bool {
	named := false
	for _, b := range s.of(c.path) {
		if literal(b.pattern) {
			return true
		}
		named = true
	}
	switch {
	case c.prog == nil:
		return false
	case c.prog.Backend != nil:
		return true
	case c.called:
		return false
	}
	return named || c.marked || c.configures()
}

// configures reports whether the module configures a provider.
func (c *candidate) configures() bool {
	return slices.ContainsFunc(c.prog.Providers, func(p *program.Provider) bool { return p.Config != nil })
}

// add adds the roots of a directory: one, or one for each workspace that the settings name.
func (e *Estate) add(c *candidate, s *settings, reports environment.Reports) {
	blocks := s.of(c.path)
	var spaces []*workspaceBlock
	for _, b := range blocks {
		spaces = append(spaces, b.workspaces...)
	}
	if len(spaces) == 0 {
		spaces = []*workspaceBlock{{}}
	}
	for _, w := range spaces {
		r := &Root{Name: c.path, Path: c.path, Workspace: w.name, Dir: c.dir}
		if w.name != "" {
			r.Name += "@" + w.name
			r.Dir = e.Dir.RootIn(c.dir.Place.Dir, w.name, reports)
		}
		for _, b := range blocks {
			b.values.add(r)
			r.addAfter(b)
		}
		w.values.add(r)
		r.Dir.Place.SettingsVars, r.Dir.Programs = r.Vars, &e.programs
		e.Roots = append(e.Roots, r)
	}
}

// connect finds the states of the roots and the edges between them.
func (e *Estate) connect(ctx context.Context) diag.List {
	each(e.Roots, func(r *Root) { r.locate(ctx) })
	for _, s := range e.stacks {
		s.locate()
	}
	var diags diag.List
	for _, r := range e.Roots {
		if r.State == (Place{}) {
			continue
		}
		if other := e.states[r.State]; other != nil {
			diags.Add(SharedState.New(diag.Error, "The roots %s and %s have their state at the same place: %s. Each would destroy what the other one has made. Give them different keys, paths or workspaces.", other.Name, r.Name, r.State.At))
			continue
		}
		e.states[r.State] = r
	}
	for _, r := range e.Roots {
		for _, a := range r.after {
			found := false
			for _, to := range e.Roots {
				if matches(a.pattern, to.Path) || matches(a.pattern, to.Name) {
					found = true
					r.upstream(to, Read{"after", a.at})
				}
			}
			if !found {
				diags.Add(NoRoots.As("No root of that path").Error(a.at, "No root matches %q. The roots are: %s.", a.pattern, strings.Join(Names(e.Roots), ", ")))
			}
		}
	}
	each(e.Roots, func(r *Root) { r.reads(ctx, e) })
	e.link(ctx)
	return diags
}

// reads finds the states that a root reads.
func (r *Root) reads(ctx context.Context, e *Estate) {
	c := r.load(ctx)
	if c == nil {
		return
	}
	block := builtin.RemoteStateBlock()
	for _, read := range c.Early(ctx, func(res *program.Resource) *schema.Block {
		if builtin.IsRemoteState(res.Provider.Provider, res.Name) {
			return block
		}
		return nil
	}) {
		why := Read{read.Instance.Addr.String(), r.seen(read.Instance.Resource.Range)}
		at, ok := r.Reads(read.Value)
		of := e.writers(at)
		switch {
		case !ok:
			r.Unresolved = append(r.Unresolved, why)
		case len(of) == 0:
			r.outside = true
		}
		for _, to := range of {
			r.upstream(to, why)
		}
	}
	slices.SortFunc(r.Unresolved, func(a, b Read) int { return strings.Compare(a.Address, b.Address) })
}

// Reads is the place of the state that a terraform_remote_state of that configuration reads in
// a root. It isn't ok where that isn't known.
func (r *Root) Reads(config cty.Value) (Place, bool) {
	for _, name := range []string{"backend", "config", "workspace"} {
		if v := config.GetAttr(name); !v.IsWhollyKnown() || name == "backend" && v.IsNull() {
			return Place{}, false
		}
	}
	o := builtin.Options{Backends: backends.All(), Env: r.Dir.Place.StorageEnv()}
	b, name, diags := o.State(config)
	if b == nil || diags.HasErrors() {
		return Place{}, false
	}
	return statebackend.PlaceOf(config.GetAttr("backend").AsString(), b, name), true
}

// each does something for all roots, some at the same time.
func each(list []*Root, do func(*Root)) {
	var wait sync.WaitGroup
	places := make(chan struct{}, 4)
	for _, r := range list {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			do(r)
		})
	}
	wait.Wait()
}
