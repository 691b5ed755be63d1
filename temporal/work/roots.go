package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
)

// Root modules are done as deployments are, each with its state in the depot. Their own backend
// is the http backend at the depot, so that each is usable by itself: a lock there is the same
// lease.

// A Selection is the root modules below a directory that a request is for.
type Selection struct {
	// States is how the addresses of the states begin, Name that of the directory in them.
	States, Name string
	// Roots are their names, After those that have to come before each.
	Roots []string
	After map[string][]string
	// Outside are the directories of modules outside of the directory, and Stacks the deployments
	// that are left out.
	Outside, Stacks []string
}

// Select finds root modules below a directory.
func Select(ctx context.Context, dir string, choice roots.Choice, destroys bool, like dialect.Dialect, environ map[string]string, home string) (s Selection, err error) {
	d := workspace.New(environment.Options{
		Dir: dir, OriginalDir: dir, Environ: environ, Home: home, Dialect: like, Program: "weir",
		Now: time.Now, Random: rand.Reader, Who: func() string { return "" }, Reports: environment.Reports{Log: io.Discard},
	})
	defer d.Close()
	estate, diags := roots.Find(ctx, d, environment.Reports{Log: io.Discard})
	if diags.HasErrors() {
		return s, failure{diags}
	}
	all, diags := estate.Choose(ctx, choice)
	if diags.HasErrors() {
		return s, failure{diags}
	}
	list, stacks := roots.Modules(all)
	if len(list) == 0 {
		return s, errors.New("no root module is selected, so nothing is to be done. To list the roots:\n    weir roots")
	}
	s.Stacks, s.After = roots.Names(stacks), map[string][]string{}
	for _, r := range list {
		if r.Problems.HasErrors() {
			return s, failure{r.Problems}
		}
		states, name, err := inStore(r)
		if err != nil {
			return s, err
		}
		if s.Name == "" {
			s.States, s.Name = states, name
		}
		if s.States != states || s.Name != name {
			return s, fmt.Errorf("the states of the roots %s and %s have different addresses: %s and %s. Use one store and name, or select the roots of one with -root", list[0].Name, r.Name, s.States+s.Name, states+name)
		}
		if err := ordered(r); err != nil {
			return s, err
		}
		s.Roots = append(s.Roots, r.Name)
		for _, up := range r.Upstreams() {
			switch {
			case !slices.Contains(list, up):
			case destroys:
				s.After[up.Name] = append(s.After[up.Name], r.Name)
			default:
				s.After[r.Name] = append(s.After[r.Name], up.Name)
			}
		}
		outside, diags := outside(ctx, r)
		if diags.HasErrors() {
			return s, failure{diags}
		}
		s.Outside = append(s.Outside, outside...)
	}
	if destroys {
		slices.Reverse(s.Roots)
	}
	slices.Sort(s.Outside)
	s.Outside = slices.Compact(s.Outside)
	return s, nil
}

// inStore splits the address of a root's state as place does. It fails unless the state is in a store
// of workers.
func inStore(r *roots.Root) (states, name string, err error) {
	if r.Path == "." {
		return "", "", errors.New("this directory is a root itself. Workers need the directory above it, so that the root has a name")
	}
	states, name, ok := place(r)
	if ok {
		prog, _ := r.Dir.Settings.Root()
		inputs, _ := r.Dir.Place.Inputs(r.Vars)
		if b, diags := r.Dir.Settings.DeclaredBackend(prog, inputs); !diags.HasErrors() {
			for _, argument := range []string{"lock_address", "unlock_address"} {
				v := b.Config.GetAttr(argument)
				ok = ok && !v.IsNull() && v.AsString() == r.State.At
			}
		}
	}
	if ok {
		return states, name, nil
	}
	address := cmp.Or(states, "http://127.0.0.1:7234"+depot.StatesPath) + cmp.Or(name, "NAME") + "/" + r.Name
	return "", "", fmt.Errorf("workers can run the root %s once its state is in their store, which accepts writes only from the worker with the lease. Set its backend:\n\n    backend \"http\" {\n      address        = %[2]q\n      lock_address   = %[2]q\n      unlock_address = %[2]q\n    }\n\nSet TF_HTTP_USERNAME to any name and TF_HTTP_PASSWORD to the token of the store. Then move the state:\n    weir -chdir=%[1]s init -migrate-state", r.Name, address)
}

// place splits the address of a root's state into what all states of the store have, and the name
// of the directory.
func place(r *roots.Root) (states, name string, ok bool) {
	at, err := url.Parse(r.State.At)
	if err != nil || r.Backend != "http" {
		return "", "", false
	}
	i := strings.LastIndex(at.Path, depot.StatesPath)
	if i < 0 {
		return "", "", false
	}
	i += len(depot.StatesPath)
	name, ok = strings.CutSuffix(at.Path[i:], "/"+r.Name)
	at.Path, at.RawPath = at.Path[:i], ""
	if !ok || !depot.Valid(name) || strings.HasPrefix(name, ".") {
		return at.String(), "", false
	}
	return at.String(), name, true
}

// ordered fails where the order of a root isn't known before a plan, unless the settings give it.
func ordered(r *roots.Root) error {
	given := slices.ContainsFunc(r.Upstream, func(e roots.Edge) bool { return e.Address == "after" })
	if len(r.Unresolved) == 0 || given {
		return nil
	}
	return fmt.Errorf("the root %s reads a state, and which one isn't known before a plan: %s. Workers need the order before. Name the roots that come first in %s:\n    root %q {\n      after = [\"ROOT\"]\n    }", r.Name, r.Unresolved[0], roots.SettingsFile, r.Path)
}

// outside are the directories outside of the estate where a root has modules or values of
// variables, as seen from it.
func outside(ctx context.Context, r *roots.Root) ([]string, diag.List) {
	config, diags := r.Dir.Load(ctx, workspace.Loading{Vars: r.Vars, InPlace: true})
	if config == nil || config.Tree == nil {
		return nil, diags
	}
	names := slices.Collect(maps.Keys(config.Sources))
	for _, v := range r.Vars {
		if v.File {
			names = append(names, v.Value)
		}
	}
	var list []string
	for _, name := range names {
		if name = filepath.ToSlash(filepath.Join(r.Path, name)); strings.HasPrefix(name, "../") {
			list = append(list, filepath.Dir(name))
		}
	}
	return list, nil
}

// findRoots finds the root modules of a bundle.
func (w *Worker) findRoots(ctx context.Context, b *bundle) diag.List {
	o := w.options(b.dir, nil)
	d := workspace.New(o)
	defer d.Close()
	estate, diags := roots.Find(ctx, d, o.Reports)
	b.roots, b.ready = map[string]*roots.Root{}, map[string]bool{}
	for _, r := range estate.Roots {
		b.roots[r.Name] = r
	}
	return diags
}

// openRoot opens a root module in a bundle, with its state in the folder of a mirror.
func (w *Worker) openRoot(ctx context.Context, b *bundle, r rounds.Request, m *mirror) (*site, error) {
	root := b.roots[r.Deployment]
	if root == nil || root.Stack {
		return nil, failure{roots.NoRoots.As("No root of that name").List("The files have no root module %s.", r.Deployment)}
	}
	o := w.options(b.dir, m)
	o.RemoteStates = w.remoteStates(r.States)
	d := workspace.New(o).RootIn(filepath.FromSlash(root.Path), root.Workspace, o.Reports)
	d.Place.Values, d.Place.SettingsVars = root.Dir.Place.Values, root.Vars
	prog, _ := d.Settings.Root() // loading reports what is wrong
	d.Place.Options.Backend = &statebackend.Backend{
		Backend: fenced{m, r.States + key(r.Stack, r.Deployment)}, Kind: "http", Config: http.Schema().EmptyValue(), Requires: statebackend.RequiredBy(prog),
	}
	// The first step of this process installs what the root needs. One root at a time does so, as
	// they may share a cache of providers.
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ready[root.Name] {
		if diags := (workspace.Init{Dir: d, Vars: root.Vars, Modules: true}).Run(ctx, quiet{}); diags.HasErrors() {
			d.Close()
			return nil, failure{diags}
		}
		b.ready[root.Name] = true
	}
	return &site{dir: d, subject: d.Configuration(), vars: root.Vars, close: d.Close}, nil
}

// claim takes the lease of a root or deployment. It waits for other workers, but not for a person
// who has the lock of a root's state.
func (w *Worker) claim(ctx context.Context, name string, r rounds.Request) (depot.Lease, error) {
	return depot.Wait(ctx, w.Depot, name, w.Holder, w.Long, func(held *depot.HeldError) error {
		info, err := storage.ParseLockInfo([]byte(held.Holder))
		if err != nil {
			return nil
		}
		return failure{lockedstate.Locked.List("%s.\n\n%s\nApply again when that run has ended. If it was killed, continue it where it ran, or release its lock:\n    weir -chdir=%s force-unlock %s", info.Held(time.Now()), info, r.Deployment, info.ID)}
	})
}

// fenced is a backend with one state, in the folder of a mirror. So each write is in the depot
// first, and needs the lease, which is the lock.
type fenced struct {
	m  *mirror
	at string
}

func (f fenced) Workspaces(context.Context) ([]string, error) {
	return nil, storage.ErrWorkspacesNotSupported
}

func (f fenced) CreateWorkspace(_ context.Context, name string) error {
	_, err := f.State(name)
	return err
}

func (f fenced) DeleteWorkspace(context.Context, string) error {
	return storage.ErrWorkspacesNotSupported
}

func (f fenced) Place(string) string { return f.at }

// JournalPath implements storage.Journaled.
func (f fenced) JournalPath(string) string { return filepath.Join(f.m.folder, depot.JournalFile) }

func (f fenced) State(name string) (storage.Store, error) {
	if name != storage.DefaultWorkspace {
		return nil, storage.ErrWorkspacesNotSupported
	}
	return f, nil
}

func (f fenced) Read(context.Context) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(f.m.folder, depot.StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (f fenced) Write(_ context.Context, state []byte) error {
	return f.m.disk().Replace(filepath.Join(f.m.folder, depot.StateFile), state, 0o600)
}

func (f fenced) Lock(context.Context, storage.LockInfo) (string, error) { return "", nil }

func (f fenced) Unlock(context.Context, string) error { return nil }

// remoteStates are the backends that a root reads states from: states of the store come from the
// depot, without a request that would need the token.
func (w *Worker) remoteStates(states string) storage.Registry {
	all := backends.All()
	all["http"] = storage.Type{Schema: http.Schema, New: func(config cty.Value, env storage.Env) (storage.Backend, diag.List) {
		b, diags := http.New(config, env)
		if b == nil {
			return nil, diags
		}
		if escaped, ok := strings.CutPrefix(b.Place(storage.DefaultWorkspace), states); ok {
			if name, err := url.PathUnescape(escaped); err == nil {
				return inDepot{b, w.Depot, name}, diags
			}
		}
		return b, diags
	}}
	return all
}

// inDepot reads a state from the depot.
type inDepot struct {
	storage.Backend
	depot depot.Depot
	name  string
}

func (b inDepot) State(name string) (storage.Store, error) {
	s, err := b.Backend.State(name)
	return depotState{s, b}, err
}

type depotState struct {
	storage.Store
	of inDepot
}

func (s depotState) Read(ctx context.Context) ([]byte, error) {
	files, err := s.of.depot.Files(ctx, s.of.name)
	return files[depot.StateFile], err
}
