package workspace

import (
	"cmp"
	"context"
	"strconv"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/planinputs"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/lint"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/provisioner"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Loading says how a configuration is loaded.
type Loading struct {
	Vars        []environment.Var
	Parallelism int
	Sink        event.Sink
	// Ask asks for values of variables that need one; nil has nobody to ask. It
	// fails with environment.ErrNoAnswer if nobody answers.
	Ask func(context.Context, *program.Variable) (string, error)
	// Record keeps what expressions learn of files, for a saved plan.
	Record bool
	// Workspace is the one that the configuration sees, empty for the selected one.
	Workspace string
	// Lint are the rules that validation also applies; nil for none.
	Lint *lint.Rules
	// Queries: the query files are loaded, too.
	Queries bool
	// Declared: only what providers declare is used. None checks anything itself, and those
	// that aren't installed are no mistake.
	Declared bool
	// InPlace: local modules are found where they are, whether init was run or not.
	InPlace bool
	// Calls are the limits of calls that several operations share; nil for limits of its own.
	Calls *ratelimit.Limiter

	extra   string              // configuration beside that of the files
	partial *planinputs.Partial // a part of it may do; nil where it doesn't
	warm    bool                // providers will be needed: start them meanwhile
	runs    bool                // it is for a plan or an apply
}

// Opening says how the configuration and the state of an operation are opened.
type Opening struct {
	Loading
	State statemgr.Options
	// Operation is the name that others see in the lock.
	Operation string
	// Partly: what may have changed since an earlier plan will do, where a plan of that says
	// what one of everything does.
	Partly bool
}

// A Subject is a configuration with a state, before they are opened: those of a
// directory, of a saved plan, or of a deployment.
type Subject struct {
	Load      func(context.Context, Loading) (*engine.Config, diag.List)
	Backend   func(*engine.Config) (*statebackend.Backend, diag.List)
	Workspace func() (string, diag.List)
	// Check looks at the state that was read; nil for nothing to check.
	Check func(*lockedstate.Session) diag.List
	// Plan makes the plan.
	Plan func(context.Context, *Work, engine.PlanOptions) (*plan.Plan, diag.List)
	// Parts: the plan is limited to parts of the state, and so is its lock, if the backend can do that.
	Parts bool
	// Apply adds to the options of an apply; nil adds nothing.
	Apply func(*plan.Plan, *engine.ApplyOptions)
}

// Configuration is that of the directory with the state of its workspace, or what the
// directory is about instead.
func (d *Directory) Configuration() Subject {
	if d.About != nil {
		return *d.About
	}
	return Subject{
		Load: func(ctx context.Context, l Loading) (*engine.Config, diag.List) {
			l.warm = true
			return d.Load(ctx, l)
		},
		Backend: func(c *engine.Config) (*statebackend.Backend, diag.List) {
			return d.Settings.InitializedBackend(c.Tree.Program, c.Inputs)
		},
		Workspace: d.Place.Workspace,
		Plan: func(ctx context.Context, w *Work, o engine.PlanOptions) (*plan.Plan, diag.List) {
			return engine.Plan(ctx, w.Config, w.Snapshot(), o)
		},
	}
}

// Snapshot is the state that is planned for.
func (w *Work) Snapshot() *state.Snapshot {
	if w.supposed != nil {
		return w.supposed
	}
	return w.opening.partial.Snapshot(w.State.Session)
}

// A Work is a configuration with the state that it is about, which was read and
// perhaps locked, and with the providers that both need.
type Work struct {
	Config   *engine.Config
	Reasons  *engine.Reasons // of the plan; nil unless it is to be explained
	State    *lockedstate.Claimed
	dir      *Directory
	subject  Subject
	opening  Opening
	supposed *state.Snapshot // what the state would be; nil for what it is
}

// Unlock releases the lock of the state.
func (w *Work) Unlock() { w.State.Unlock() }

// Stored describes the state as it is stored.
func (w *Work) Stored() (serial uint64, all bool) { return w.State.Stored() }

// Doubts are the objects that may exist: a provider was asked for them and gave no answer.
func (w *Work) Doubts() []journal.Operation { return w.State.Doubts() }

// Open loads a configuration, opens, locks and reads its state, and finds its providers.
// Without a result there is an error; beside one there are warnings. The caller
// unlocks the work.
func (d *Directory) Open(ctx context.Context, s Subject, o Opening) (*Work, diag.List) {
	var diags diag.List
	o.runs = o.Operation != "import"
	if o.Partly && d.About == nil {
		if name, problems := d.Place.Workspace(); len(problems) == 0 {
			o.partial = planinputs.Begin(d.Place, name, d.Providers.External())
		}
	}
	w := &Work{dir: d, subject: s, opening: o}
	w.Config, diags = d.open(ctx, s, o.Loading, func(b *statebackend.Backend, name string) (*lockedstate.Session, diag.List) {
		var diags diag.List
		w.State, diags = d.States.StateIn(ctx, b, name, o.State, o.Operation)
		if w.State == nil && unfinished(diags) && !o.State.Locking.Off {
			diags = d.finishMove(ctx, b, name, o.State)
			if diags.HasErrors() {
				return nil, diags
			}
			var more diag.List
			w.State, more = d.States.StateIn(ctx, b, name, o.State, o.Operation)
			diags.Append(more)
		}
		if w.State == nil {
			return nil, diags
		}
		return w.State.Session, diags
	})
	if w.Config != nil {
		return w, diags
	}
	if w.State != nil {
		w.Unlock()
	}
	return nil, diags
}

// Look loads a configuration and reads its state without a lock.
func (d *Directory) Look(ctx context.Context, s Subject, o Opening) (c *engine.Config, state *lockedstate.Session, diags diag.List) {
	c, diags = d.open(ctx, s, o.Loading, func(b *statebackend.Backend, name string) (_ *lockedstate.Session, diags diag.List) {
		state, diags = d.States.PresentIn(ctx, b, name, o.State)
		return state, diags
	})
	return c, state, diags
}

// open loads a configuration, reads its state with read, and finds its providers.
func (d *Directory) open(ctx context.Context, s Subject, l Loading, read func(*statebackend.Backend, string) (*lockedstate.Session, diag.List)) (*engine.Config, diag.List) {
	config, diags := s.Load(ctx, l)
	if config == nil || config.Tree == nil || config.Tree.Program == nil {
		return nil, diags
	}
	if l.runs {
		if stop := d.checkMode(config.Tree, nil); stop.HasErrors() {
			return nil, stop
		}
	}
	// A backend that isn't the configured one explains most other problems.
	b, more := s.Backend(config)
	if more.HasErrors() {
		return nil, more
	}
	if diags.HasErrors() {
		return nil, engine.ValidateBeside(ctx, config, diags, d.ProvideFound)
	}
	diags.Append(more)
	name, more := s.Workspace()
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	state, more := read(b, name)
	if state != nil && !l.partial.Fits(state) {
		return d.open(ctx, s, l, func(*statebackend.Backend, string) (*lockedstate.Session, diag.List) { return state, more })
	}
	diags.Append(more)
	if state == nil {
		return nil, diags
	}
	if s.Check != nil {
		diags.Append(s.Check(state))
	}
	if l.runs {
		diags.Append(d.checkMode(config.Tree, state.Base()))
	}
	if !diags.HasErrors() {
		diags.Append(d.ProvideFor(config, state.Prior()))
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return config, diags
}

// Load loads the configuration of the directory. It may be there beside errors.
func (d *Directory) Load(ctx context.Context, l Loading) (*engine.Config, diag.List) {
	inputs, diags := l.partial.Given(func() (map[string]module.VariableInput, diag.List) {
		return d.Settings.Given(ctx, l.Vars, l.runs, l.Ask)
	})
	if diags.HasErrors() {
		return nil, diags
	}
	options := engine.LoadOptions{Dir: ".", Inputs: inputs, Files: d.Place.Files(), Resolve: d.localModules(d.Place.Files()), Queries: l.Queries, Programs: d.Programs, From: d.Place.Dir}
	if l.InPlace {
		options.Resolve = d.ModulesInPlace(d.Place.Files())
	}
	if config := l.partial.Load(ctx, options, func() (engine.World, diag.List) {
		l.warm = false
		return d.World(ctx, l)
	}); config != nil {
		d.Place.AddSources(config.Sources)
		return config, diags
	}
	world, more := d.World(ctx, l)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	options.World = world
	if l.extra != "" {
		options.Files = module.With{Files: options.Files, Name: extraFile, Data: []byte(l.extra)}
	}
	config, more := engine.Load(ctx, options)
	diags.Append(more)
	if config != nil {
		d.Place.AddSources(config.Sources)
		versions := engine.CheckVersions(d.Place.Dialect, config.Tree)
		if versions.HasErrors() {
			return nil, versions // it explains the rest
		}
		diags.Append(versions)
	}
	l.partial.Loaded(diags)
	return config, diags
}

// World is what a run takes from outside.
func (d *Directory) World(ctx context.Context, l Loading) (engine.World, diag.List) {
	workspace := l.Workspace
	var diags diag.List
	if workspace == "" {
		workspace, diags = d.Place.Workspace()
	}
	if l.Parallelism < 0 {
		diags.Add(diag.BadOption.As("Invalid parallelism value").New(diag.Error, "The -parallelism option can't be negative, and it is %d.", l.Parallelism))
	}
	depth := 0
	if text := d.Place.Environ["TF_TEMPLATE_RECURSION_DEPTH"]; text != "" {
		var err error
		if depth, err = strconv.Atoi(text); err != nil || depth <= 0 {
			diags.Add(diag.BadOption.As("Invalid TF_TEMPLATE_RECURSION_DEPTH").New(diag.Error, "How deep templates may render templates has to be a positive whole number, and it is %q.", text))
		}
	}
	calls, lists, more := d.Place.Limits(l.Parallelism)
	diags.Append(more)
	catalog := &providersource.Late{}
	if l.warm && !diags.HasErrors() && d.Place.Catalog == nil {
		d.Providers.Warm(ctx, catalog)
	}
	var source fsfuncs.Source
	if l.Record {
		source = fsfuncs.NewRecorder(d.Place.Disk(), fsfuncs.Record{})
	}
	return engine.World{
		Dialect:     d.Place.Dialect,
		Files:       source,
		Disk:        d.Place.Disk(),
		Commands:    provisioner.Place{Dir: d.Place.ProcessDir(), Environ: d.Place.Environment()},
		Catalog:     catalog,
		WorkDir:     ".",
		OriginalDir: d.Place.OriginalDir,
		DataDir:     d.Place.DataName(),
		Workspace:   workspace,
		Now:         d.Place.Now,
		Random:      d.Place.Random,
		Parallelism: l.Parallelism, Calls: cmp.Or(l.Calls, calls), Lists: lists,
		Sink:    l.Sink,
		Secrets: d.Place.Secrets,
		Lint:    l.Lint,

		TemplateDepth: depth,
	}, diags
}

// ProvideFor fills the catalog that a configuration was loaded with.
func (d *Directory) ProvideFor(config *engine.Config, s *state.Snapshot) diag.List {
	return d.Provide(config, providersource.Requirements(config.Tree, s))
}

// ProvideFound is ProvideFor with the providers that are installed. It returns those
// that aren't.
func (d *Directory) ProvideFound(config *engine.Config) ([]addr.Provider, diag.List) {
	return d.Providers.FillFound(config.World.Catalog.(*providersource.Late), providersource.Requirements(config.Tree, nil))
}

// Provide is ProvideFor with the requirements themselves.
func (d *Directory) Provide(config *engine.Config, reqs install.Requirements) diag.List {
	diags := d.Providers.Fill(config.World.Catalog.(*providersource.Late), reqs)
	return modeFirst(diags, func() diag.List { return d.checkMode(config.Tree, nil) })
}

// StateSchemas are the schemas of the providers that a state has objects of.
func (d *Directory) StateSchemas(ctx context.Context, s *state.Snapshot) (map[addr.Provider]*provider.Schemas, diag.List) {
	schemas, diags := d.Providers.StateSchemas(ctx, s)
	return schemas, modeFirst(diags, func() diag.List { return d.CheckMode(ctx) })
}
