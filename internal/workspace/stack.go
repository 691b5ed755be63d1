package workspace

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/stack"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/removal"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/approvalpolicy"
	"weir.dev/weir/internal/workspace/externalinputs"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

// A Stack is the stack in a directory with its deployment files.
type Stack struct {
	Dir *Directory
	*deploy.Stack
	// Left are the deployments that have objects, but no block any more.
	Left []*deploy.Deployment

	shared *shared
}

// shared is what work on the deployments of a stack has in common.
type shared struct {
	mu sync.Mutex
	// config is the stack with the inputs of some deployment, where what is loaded is
	// the same for all; found are the problems beside it.
	config *engine.Config
	found  diag.List
	// common and calls are nil where only one deployment is at work.
	common *providersource.Common
	calls  *ratelimit.Limiter
	// states is where they are, unopened why that can't be known.
	states   *statebackend.Backend
	unopened diag.List
}

// LoadStack reads only the deployment files. It doesn't look for states.
func LoadStack(d *Directory) (*Stack, diag.List) {
	d.Settings.OfStack()
	files, diags := deploy.Load(d.Place.Files(), ".")
	d.Place.AddSources(files.Sources)
	return &Stack{Dir: d, Stack: files, shared: &shared{}}, diags
}

// OpenStack reads the deployment files, and looks which deployments there are beside
// those.
func OpenStack(ctx context.Context, d *Directory) (*Stack, diag.List) {
	s, diags := LoadStack(d)
	if diags.HasErrors() {
		return s, diags
	}
	if s.shared.states, s.shared.unopened = s.Dir.States.StackBackend(deploy.Names(s.Deployments)...); s.shared.states != nil {
		diags.Append(s.findLeft(ctx))
	}
	return s, diags
}

// Limit has deployments that are at work share schemas and processes of providers, with
// no more than n calls, and n processes beside those that one deployment needs by
// itself. It returns how many deployments to work on at once.
func (s *Stack) Limit(n int) int {
	s.shared.calls, _, _ = s.Dir.Place.Limits(n) // loading reports what is wrong with the settings
	if n <= 0 {
		n = 10
	}
	s.shared.common = s.Dir.Providers.Common(n)
	return n
}

// Use has the deployments take their providers from there.
func (s *Stack) Use(c *providersource.Common) { s.shared.common = c; s.Dir.Providers.Join(c) }

// On is the stack for operations in the same directory that tell elsewhere.
func (s *Stack) On(d *Directory) *Stack {
	d.Providers.Join(s.shared.common)
	return &Stack{d, s.Stack, s.Left, s.shared}
}

// Choose finds deployments by name; without names all that the files have.
func (s *Stack) Choose(names []string) ([]*deploy.Deployment, diag.List) {
	if len(names) == 0 {
		return s.Deployments, nil
	}
	return deploy.Choose(slices.Concat(s.Deployments, s.Left), names)
}

// StackBackend is where the states of the deployments are, with which providers the stack asks
// for by address. That is looked up only where states have others. Anything that is to be
// remembered of a deployment may be nil.
func (s *Stack) StackBackend(m *shardedstate.Memory) (*statebackend.Backend, diag.List) {
	if s.shared.states == nil {
		return nil, s.shared.unopened
	}
	b := *s.shared.states
	if m != nil {
		b.Memory = m.Text()
	}
	required := sync.OnceValue(func() func(addr.Provider) bool {
		config, _ := s.load(context.Background(), &deploy.Deployment{}, Loading{}, nil)
		if config == nil || config.Tree == nil {
			return nil
		}
		return statebackend.RequiredBy(config.Tree.Program)
	})
	b.Requires = func(p addr.Provider) bool { return required() != nil && required()(p) }
	return &b, nil
}

// Prepare gives deployments their inputs for work on them, and reports those that are left
// over where all are meant.
func (s *Stack) Prepare(ctx context.Context, list []*deploy.Deployment, all bool) diag.List {
	diags := s.WantDeployments()
	if diags.Append(s.shared.unopened); diags.HasErrors() {
		return diags
	}
	for _, one := range list {
		diags.Append(s.Dir.States.Make(ctx, s.shared.states, one.Name))
	}
	if all {
		diags.Append(s.TellLeft())
	}
	if !diags.HasErrors() {
		diags.Append(s.Evaluate(ctx, list))
	}
	return diags
}

// Evaluate computes the inputs of deployments, with what they take from elsewhere.
func (s *Stack) Evaluate(ctx context.Context, list []*deploy.Deployment) diag.List {
	o, diags := externalinputs.New(ctx, s.Dir.Place)
	if diags.HasErrors() {
		return diags
	}
	for _, d := range list {
		if d.Left {
			diags.Append(s.recallInputs(ctx, d))
		}
	}
	diags.Append(s.Stack.Evaluate(slices.DeleteFunc(slices.Clone(list), func(d *deploy.Deployment) bool { return d.Left }), o))
	for _, d := range list {
		for _, in := range d.Inputs {
			s.Dir.Place.Secrets.AddMarked(in.Value)
		}
	}
	return diags
}

// Subject is the stack with the inputs and the state of a deployment.
func (s *Stack) Subject(one *deploy.Deployment) Subject {
	return Subject{
		Load: func(ctx context.Context, l Loading) (*engine.Config, diag.List) {
			return s.Load(ctx, one, l)
		},
		Backend: func(c *engine.Config) (*statebackend.Backend, diag.List) {
			var memory *shardedstate.Memory
			if c != nil && c.Tree != nil {
				memory = remembered(c, one)
			}
			return s.StackBackend(memory)
		},
		Workspace: func() (string, diag.List) { return one.Name, nil },
		Plan: func(ctx context.Context, w *Work, o engine.PlanOptions) (*plan.Plan, diag.List) {
			o.RemovedDestroys = false // a stack's removed blocks say what they do
			if one.Destroy {
				o.Mode = plan.Destroy
			}
			return s.plan(ctx, w, one, o)
		},
	}
}

// rounds is how often an apply of a deployment continues with what was deferred.
const rounds = 10

// StackApply plans a deployment whose inputs are there, and applies what is approved, in rounds
// where something has to be deferred, and once more where rules say so.
type StackApply struct {
	Stack      *Stack
	Deployment *deploy.Deployment
	Opening    Opening
	Options    planoptions.Planning
}

// Run reports whether everything was done.
func (c StackApply) Run(ctx context.Context, by Approver) bool {
	c.Options.AllowDeferral, c.Opening.Ask = true, nil
	w := &approvalpolicy.Watch[*Work, Limits, *Outcome, journal.Operation]{Approver: by, Stack: c.Stack.Stack, Deployment: c.Deployment, Once: len(c.Options.Replace) > 0, Ends: []diag.Code{apply.Halted, diag.Interrupted}}
	once := Apply{Plan: Plan{Dir: c.Stack.Dir, Subject: c.Stack.Subject(c.Deployment), Opening: c.Opening, Options: c.Options}, Rounds: rounds}
	return w.Until(func() bool { return once.Run(ctx, w) })
}

// plan makes no plan where something is gone and nothing says what becomes of it.
func (s *Stack) plan(ctx context.Context, w *Work, one *deploy.Deployment, o engine.PlanOptions) (*plan.Plan, diag.List) {
	if one.Left && o.Mode != plan.Destroy {
		return nil, diag.List{s.leftOut(one, diag.Error)}
	}
	made, diags := engine.Plan(ctx, w.Config, w.Snapshot(), o)
	if made == nil || o.Mode == plan.Destroy {
		return made, diags
	}
	kept, err := shardedstate.Recall(w.Snapshot())
	if err != nil {
		kept = shardedstate.Memory{}
	}
	if gone := removal.Unclaimed(made.Previous, made.Modules, made.Gone, made.Reaches(), w.Config.Tree, kept); gone.HasErrors() {
		// That their providers are gone too follows from it.
		diags = diags.Without(planner.ProviderGone)
		return nil, append(diags, gone...)
	}
	if one.Import && w.State.Base() == nil {
		diags.Append(s.onlyImports(one, made))
	}
	return made, diags
}

// onlyImports rejects to create objects for a deployment that is to take over those that
// exist.
func (s *Stack) onlyImports(one *deploy.Deployment, made *plan.Plan) diag.List {
	var names []string
	for _, c := range made.Changes {
		if c.Action == plan.Create {
			names = append(names, c.Addr.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - 5; more > 0 {
		names = append(names[:5], "...")
	}
	var diags diag.List
	diags.Add(deploy.BadDeployment.As("Deployment to be imported").Error(one.Range, "The deployment %q has import = true and no state yet, so it has to take over what exists, and the plan would create:\n  - %s\nWrite import blocks for these in the modules, or bring a state with \"%s stacks state push -deployment=%s FILE\". Where they don't exist, remove import = true.", one.Name, strings.Join(names, "\n  - "), s.Dir.Place.Program, one.Name))
	return diags
}

// Load loads the stack with the inputs of a deployment. It may be there beside
// errors.
func (s *Stack) Load(ctx context.Context, one *deploy.Deployment, l Loading) (*engine.Config, diag.List) {
	config, diags := s.load(ctx, one, l, nil)
	if config == nil || config.Tree == nil {
		return config, diags
	}
	return config, diags.Merged(one.CheckInputs(config.Tree.Program, config.Inputs, diag.Error))
}

func (s *Stack) load(ctx context.Context, one *deploy.Deployment, l Loading, resolve func(context.Context, module.Request) (string, diag.List)) (*engine.Config, diag.List) {
	l.Workspace = storage.DefaultWorkspace
	world, diags := s.Dir.World(ctx, l)
	world.Workspace = "" // none exist
	if diags.HasErrors() {
		return nil, diags
	}
	inputs := map[string]module.VariableInput{}
	for name, in := range one.Inputs {
		inputs[name] = module.VariableInput{Value: in.Value, From: "deployment", Range: in.Range}
	}
	if len(l.Vars) > 0 {
		given, more := s.Dir.Place.Inputs(l.Vars)
		diags.Append(more)
		for name, in := range given {
			if in.From == "argument" || in.From == "file" {
				inputs[name] = in
			}
		}
	}
	world.Calls = cmp.Or(s.shared.calls, world.Calls)
	if resolve != nil {
		config, more := s.compile(ctx, world, inputs, resolve)
		return config, append(diags, more...)
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	if s.shared.config != nil {
		s.Dir.Place.AddSources(s.shared.config.Sources)
		return s.shared.config.With(world, inputs), append(diags, s.shared.found...)
	}
	config, more := s.compile(ctx, world, inputs, s.Dir.ModulesInPlace(s.Dir.Place.Files()))
	if config.Tree != nil && !config.Tree.Varies() {
		s.shared.config, s.shared.found = config, slices.Clone(more)
	}
	return config, append(diags, more...)
}

func (s *Stack) compile(ctx context.Context, world engine.World, inputs map[string]module.VariableInput, resolve func(context.Context, module.Request) (string, diag.List)) (*engine.Config, diag.List) {
	config, diags := engine.Load(ctx, engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: s.Dir.Place.Files(), Language: stack.Language{Dialect: s.Dir.Place.Dialect}, Resolve: resolve})
	s.Dir.Place.AddSources(config.Sources)
	if config.Tree != nil && !diags.HasErrors() {
		diags.Append(stack.CheckTree(config.Tree))
		diags.Append(engine.CheckVersions(s.Dir.Place.Dialect, config.Tree))
	}
	return config, diags
}

// State reads the state of a deployment, without its lock.
func (s *Stack) State(ctx context.Context, one *deploy.Deployment) (*state.Snapshot, diag.List) {
	b, diags := s.StackBackend(nil)
	if b == nil {
		return nil, diags
	}
	opened, diags := s.Dir.States.PresentIn(ctx, b, one.Name, statemgr.Options{})
	if opened == nil {
		return nil, diags
	}
	return opened.Snapshot(), diags
}
