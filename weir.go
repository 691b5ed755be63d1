// Package weir plans and applies infrastructure configurations in a Go program, as the command
// weir does in a directory.
//
// A [Workspace] is a configuration with the state of one of its workspaces. Open
// one, make it ready, plan, look at the plan, apply it:
//
//	ws, err := weir.Open("infra", weir.Options{Environ: os.Environ()})
//	if err != nil { … }
//	defer ws.Close()
//	if err := ws.Init(ctx, weir.InitOptions{}); err != nil { … }
//	plan, err := ws.Plan(ctx, weir.PlanOptions{})
//	if err != nil { … }
//	for _, c := range plan.Changes() {
//		fmt.Println(c.Action, c.Address)
//	}
//	result, err := ws.Apply(ctx, plan, weir.ApplyOptions{})
//
// [Plan.Groups] puts changes that are alike together, [Workspace.Explain] reports what changes
// come from, and [Plan.Impact] what others may follow.
//
// A [Provider] is one that is part of the program, and a [Store] keeps states where the program wants
// them. [OpenStack] opens a stack of components, whose deployments are workspaces too.
//
// Nothing is taken from the process: not its environment, working directory,
// terminal or signals. The [Options] have everything an operation needs of them, so any
// number of workspaces can be at work at the same time, and so can the methods of
// one of them: the lock of the state keeps them apart.
//
// # Errors and warnings
//
// Anything that is wrong with a configuration, or was wrong with a provider, is reported by an
// [*Error], which has [Diagnostics]. Use [errors.Is] with [ErrLocked], [ErrStalePlan] and
// [ErrInDoubt] for what programs react to, and with [context.Canceled] and
// [context.DeadlineExceeded] for operations whose context ended. Warnings come with results.
//
// # Stopping
//
// An apply can be ended in two ways. Closing [ApplyOptions.Stop] lets what is under way end
// and begins nothing new. Cancelling the context cuts calls of providers short as well. Either
// way the state has what was done when the method returns, and what isn't known is in doubt
// until [Workspace.Recover] resolves it.
package weir

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Options are what a workspace takes from outside. The zero value is a program
// without environment, with the backend that the configuration asks for, providers
// from registries, and the system's clock.
type Options struct {
	// Workspace is the name of the workspace; empty stands for the selected one,
	// which is "default" unless the command weir has selected another.
	Workspace string
	// Variables are values of the root module's variables: strings, numbers, bools,
	// and slices, maps and structs of them, as [encoding/json] takes them. They count
	// more than those from files and from the environment.
	Variables map[string]any
	// Environ is the environment of providers and provisioners, as NAME=VALUE, and
	// what backends and settings are read from. With [os.Environ] everything is found
	// where the command weir finds it.
	Environ []string
	// Terraform takes Terraform's meaning where it differs from OpenTofu's, and its
	// registry.
	Terraform bool

	// Store has the states; nil leaves that to the configuration's backend.
	Store Store
	// Providers say where providers come from; empty leaves that to the settings
	// that Environ leads to, and to registries.
	Providers []ProviderSource
	// DataDir is where [OpenFS] writes: modules and providers that are installed, and
	// journals of applies. Without it an apply is recorded as [OpenFS] says.
	// [Open] uses the directory itself.
	DataDir string

	// LockTimeout is how long to wait while somebody else has the state's lock.
	LockTimeout time.Duration
	// Who informs others whose lock it is, such as "user@host".
	Who string
	// Parallelism is how many calls of providers there are at once; 0 means 10, and more reads
	// where a provider allows them.
	Parallelism int
	// Now is the clock; nil stands for the system's.
	Now func() time.Time
	// Random makes identities of states and locks; nil stands for the system's.
	Random io.Reader
	// Events learns what happens to objects, by several goroutines at once. It must not block
	// for long.
	Events func(Event)
	// Notice learns why an operation takes long, and what can't be returned any more.
	Notice func(text string)
	// Log gets what providers log if TF_LOG is in the environment.
	Log io.Writer
}

// A Workspace is a configuration with the state of one of its workspaces. Its
// methods may be called at the same time.
type Workspace struct {
	options Options
	config  environment.Options
	scratch string // to be removed by Close; empty for none

	mu     sync.Mutex
	memory *workspace.Directory // what one operation finds out for the next
}

// Open opens the configuration in a directory. Nothing is read yet.
func Open(dir string, o Options) (*Workspace, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(absolute); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	return open(absolute, nil, o)
}

// OpenFS opens the configuration in the root of a file system, such as one that is
// embedded in the program or made by a test. Without [Options.DataDir] nothing is
// written to the disk: local modules need no Init, states are best kept in a
// [Store], and an apply has no journal. Its next creations are noted in a
// [NoteStore], or beside the state where the configuration's backend has room for
// that. Otherwise only this Workspace knows them, and forgets them
// when the process ends in the middle of an apply. A state that the store rejects is then only in the
// diagnostics, secrets and all.
func OpenFS(fsys fs.FS, o Options) (*Workspace, error) {
	dir := o.DataDir
	if dir == "" {
		random, err := os.MkdirTemp("", "weir-")
		if err != nil {
			return nil, err
		}
		// Only its name is needed: it becomes where something has to be written.
		if err := os.Remove(random); err != nil {
			return nil, err
		}
		dir = random
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w, err := open(absolute, fsys, o)
	if err == nil && o.DataDir == "" {
		w.scratch = absolute
	}
	return w, err
}

func open(dir string, fsys fs.FS, o Options) (*Workspace, error) {
	w := &Workspace{options: o}
	w.config = environment.Options{
		Dir: dir, OriginalDir: dir, FS: fsys,
		Environ: lastValues(o.Environ),
		Home:    filepath.Join(dir, ".terraform", "home"), // nobody's, so that nothing is found by chance
		Program: "weir", Secrets: new(secret.Known), Now: o.Now, Random: o.Random, Workspace: o.Workspace,
	}
	if fsys != nil && o.DataDir == "" {
		w.config.Notes = new(storage.Notes)
	}
	if o.Terraform {
		w.config.Dialect = dialect.Terraform
	}
	if o.Now == nil {
		w.config.Now = time.Now
	}
	if o.Who != "" {
		w.config.Who = func() string { return o.Who }
	}
	if o.Store != nil {
		w.config.Backend = &statebackend.Backend{Backend: newStates(o.Store, w.config.Notes != nil, dir), Kind: "store", Config: cty.EmptyObjectVal}
	}
	values, err := inputs(o.Variables)
	if err != nil {
		return nil, err
	}
	w.config.Values = values
	if err := supply(&w.config, o.Providers); err != nil {
		return nil, err
	}
	w.memory = workspace.New(w.config)
	return w, nil
}

// lastValues maps each variable to its last value.
func lastValues(list []string) map[string]string {
	all := map[string]string{}
	for _, text := range list {
		for i := 1; i < len(text); i++ { // a name may begin with the sign
			if text[i] == '=' {
				all[text[:i]] = text[i+1:]
				break
			}
		}
	}
	return all
}

// inputs are Go values as values of variables.
func inputs(all map[string]any) (map[string]module.VariableInput, error) {
	out := map[string]module.VariableInput{}
	for name, v := range all {
		value, err := fromGo(v)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		out[name] = module.VariableInput{Value: value, From: "argument"}
	}
	return out, nil
}

// fromGo is a Go value in the type that its JSON suggests.
func fromGo(v any) (cty.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return cty.NilVal, err
	}
	t, err := ctyjson.ImpliedType(text)
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(text, t)
}

// Close removes what was kept of the workspace for its operations only. States stay.
func (w *Workspace) Close() error {
	w.memory.Close()
	if w.scratch != "" {
		return os.RemoveAll(w.scratch)
	}
	return nil
}

// begin is the directory for one operation. A caller that calls it closes it.
func (w *Workspace) begin() *workspace.Directory {
	notice := w.options.Notice
	if notice == nil {
		notice = func(string) {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory.With(environment.Reports{
		Notice:  notice,
		Problem: func(l diag.List) { notice(w.diagnostics(l).Error()) },
		Log:     w.options.Log,
	})
}

// opening is how an operation opens the configuration and the state.
func (w *Workspace) opening(name string) workspace.Opening {
	return workspace.Opening{
		Loading:   workspace.Loading{Parallelism: w.options.Parallelism, Sink: sink(w.options.Events), Record: true},
		State:     statemgr.Options{Locking: lockedstate.Locking{Timeout: w.options.LockTimeout}},
		Operation: name,
	}
}

// version is what plans are noted to be made by.
func version() string { return buildinfo.Current().Version }

// InitOptions say how a workspace is made ready. The zero value installs what is
// missing.
type InitOptions struct {
	// Upgrade takes the newest modules and providers that the constraints allow.
	Upgrade bool
	// Reconfigure takes the backend as it is configured, whatever was used before.
	// Without it a backend that has changed is an error, unless Migrate copies the
	// states.
	Reconfigure, Migrate bool
	// BackendConfig completes the backend's block: NAME=VALUE, or names of files.
	BackendConfig []string
	// ReadOnlyLocks rejects to change the dependency lock file.
	ReadOnlyLocks bool
	// Progress is reported each step, as a line.
	Progress func(line string)
}

// Init makes a workspace ready: its backend, its modules and its providers. It is
// safe to do it again. Where everything is local, in-process or kept in a [Store],
// there is nothing to do.
func (w *Workspace) Init(ctx context.Context, o InitOptions) error {
	d := w.begin()
	defer d.Close()
	return w.failure(ctx, w.initialization(d, o).Run(ctx, initializer{o}))
}

// initialization is how a directory is made ready.
func (w *Workspace) initialization(d *workspace.Directory, o InitOptions) workspace.Init {
	return workspace.Init{
		Dir: d, State: w.opening("init").State, Backend: true, BackendConfig: o.BackendConfig,
		Reconfigure: o.Reconfigure, Migrate: o.Migrate, Modules: true, Upgrade: o.Upgrade, ReadOnlyLocks: o.ReadOnlyLocks,
	}
}

// An initializer answers as the options say.
type initializer struct{ InitOptions }

func (i initializer) tell(format string, args ...any) {
	if i.Progress != nil {
		i.Progress(fmt.Sprintf(format, args...))
	}
}

func (i initializer) Begins(workspace.Part)    {}
func (i initializer) BackendSet(kind string)   { i.tell("using the backend %q", kind) }
func (i initializer) BackendUnset(kind string) { i.tell("no longer using the backend %q", kind) }
func (i initializer) Chosen(name string)       { i.tell("using the workspace %q", name) }
func (i initializer) Module(line string)       { i.tell("%s", line) }
func (i initializer) Locked(bool)              { i.tell("wrote the dependency lock file") }
func (i initializer) Copy(context.Context, workspace.Copies) (bool, error) {
	return i.Migrate, nil
}
func (i initializer) Choose(context.Context, string, []string) (string, error) {
	return "", environment.ErrNoAnswer
}
func (i initializer) Provider(e install.Event) {
	if e.Kind == install.Installing {
		i.tell("installing %s %s", e.Provider, e.Version)
	}
}

// Validate checks the configuration with the schemas of its providers. It looks
// neither at the state nor at anything that exists. Warnings come beside a nil error.
func (w *Workspace) Validate(ctx context.Context) (Diagnostics, error) {
	d := w.begin()
	defer d.Close()
	_, found := workspace.Validate{Dir: d, Loading: workspace.Loading{Parallelism: w.options.Parallelism}}.Run(ctx)
	return w.warnings(found), w.failure(ctx, found)
}
