package operation

import (
	"context"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/operation/backend"
	"weir.dev/weir/internal/operation/outside"
	"weir.dev/weir/internal/operation/states"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/stack"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/parts"
	"weir.dev/weir/internal/stack/removal"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// A Stack is the stack in a directory with its deployment files.
type Stack struct {
	*Directory
	*deploy.Stack
	// Left are the deployments that have objects, but no block any more.
	Left []*deploy.Deployment
}

// OpenStack reads the deployment files, and looks which deployments there are beside
// those.
func OpenStack(ctx context.Context, d *Directory) (*Stack, diag.List) {
	files, diags := deploy.Load(d.Files(), ".")
	d.AddSources(files.Sources)
	s := &Stack{Directory: d, Stack: files}
	if diags.HasErrors() {
		return s, diags
	}
	diags.Append(s.findLeft(ctx))
	return s, diags
}

// On is the stack for operations in the same directory that tell elsewhere.
func (s *Stack) On(d *Directory) *Stack { return &Stack{d, s.Stack, s.Left} }

// Choose finds deployments by name; without names all that the files have.
func (s *Stack) Choose(names []string) ([]*deploy.Deployment, diag.List) {
	if len(names) == 0 {
		return s.Deployments, nil
	}
	var diags diag.List
	var list []*deploy.Deployment
	all := slices.Concat(s.Deployments, s.Left)
	for _, name := range names {
		i := slices.IndexFunc(all, func(d *deploy.Deployment) bool { return d.Name == name })
		if i < 0 {
			var known []string
			for _, d := range all {
				known = append(known, d.Name)
			}
			diags.Add(diag.UnknownDeployment.New(diag.Error, "There is no deployment named %q.%s The deployments of this stack are: %s.", name, syntax.Suggest(name, known), strings.Join(known, ", ")))
			continue
		}
		if !slices.Contains(list, all[i]) {
			list = append(list, all[i])
		}
	}
	return list, diags
}

// StackBackend is where the states of the deployments are, with which providers the
// stack asks for by address. That is looked up only where states have others.
func (s *Stack) StackBackend() *backend.Backend {
	b := s.Directory.StackBackend()
	required := sync.OnceValue(func() func(addr.Provider) bool {
		config, _ := s.load(context.Background(), &deploy.Deployment{}, Loading{}, nil)
		if config == nil || config.Tree == nil {
			return nil
		}
		return backend.RequiredBy(config.Tree.Program)
	})
	b.Requires = func(p addr.Provider) bool { return required() != nil && required()(p) }
	return b
}

// WantDeployments reports deployment files without a deployment.
func (s *Stack) WantDeployments() diag.List {
	if len(s.Deployments) > 0 {
		return nil
	}
	return diag.UnknownDeployment.As("No deployments").List("The deployment files have no deployment block, so there is nothing to plan or apply. Add one, such as:\n    deployment \"production\" {\n      inputs = {}\n    }")
}

// Prepare gives deployments their inputs for work on them, and tells of those that are
// left over where all are meant.
func (s *Stack) Prepare(ctx context.Context, list []*deploy.Deployment, all bool) diag.List {
	diags := s.WantDeployments()
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
	o, diags := outside.New(ctx, s.Place)
	if diags.HasErrors() {
		return diags
	}
	for _, d := range list {
		if d.Left {
			diags.Append(s.recallInputs(d))
		}
	}
	diags.Append(s.Stack.Evaluate(slices.DeleteFunc(slices.Clone(list), func(d *deploy.Deployment) bool { return d.Left }), o))
	for _, d := range list {
		for _, in := range d.Inputs {
			s.Secrets.AddMarked(in.Value)
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
		Backend: func(c *engine.Config) (*backend.Backend, diag.List) {
			b := s.StackBackend()
			if inner, ok := b.Backend.(parts.Backend); ok && c != nil && c.Tree != nil {
				inner.Memory = remembered(c, one)
				b.Backend = inner
			}
			return b, nil
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

// plan makes no plan where something is gone and nothing says what becomes of it.
func (s *Stack) plan(ctx context.Context, w *Work, one *deploy.Deployment, o engine.PlanOptions) (*plan.Plan, diag.List) {
	if one.Left && o.Mode != plan.Destroy {
		return nil, diag.List{s.leftOut(one, diag.Error)}
	}
	made, diags := engine.Plan(ctx, w.Config, w.Snapshot(), o)
	if made == nil || o.Mode == plan.Destroy {
		return made, diags
	}
	kept, err := parts.Backend{Dir: s.Path(parts.Dir)}.Recall(one.Name)
	if err != nil {
		kept = parts.Memory{}
	}
	if gone := removal.Unclaimed(made.Previous, made.Modules, made.Gone, w.Config.Tree, kept); gone.HasErrors() {
		// That their providers are gone too follows from it.
		diags = diags.Without(planner.ProviderGone)
		return nil, append(diags, gone...)
	}
	if one.Import && w.Base() == nil {
		diags.Append(s.onlyImports(one, made))
	}
	return made, diags
}

// onlyImports refuses to create objects for a deployment that is to take over those
// that exist.
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
	diags.Add(deploy.BadDeployment.As("Deployment to be imported").Error(one.Range, "The deployment %q has import = true and no state yet, so it has to take over what exists, and the plan would create:\n  - %s\nWrite import blocks for these in the modules, or bring a state with \"%s stacks state push -deployment=%s FILE\". Where they don't exist, remove import = true.", one.Name, strings.Join(names, "\n  - "), s.Program, one.Name))
	return diags
}

// Load loads the stack with the inputs of a deployment. It may be there beside
// errors.
func (s *Stack) Load(ctx context.Context, one *deploy.Deployment, l Loading) (*engine.Config, diag.List) {
	config, diags := s.load(ctx, one, l, nil)
	if config == nil || config.Tree == nil {
		return config, diags
	}
	return config, diags.Merged(one.CheckInputs(config.Tree.Program))
}

func (s *Stack) load(ctx context.Context, one *deploy.Deployment, l Loading, resolve func(context.Context, module.Request) (string, diag.List)) (*engine.Config, diag.List) {
	l.Workspace = storage.DefaultWorkspace
	world, diags := s.World(l)
	world.Workspace = "" // there are none
	if diags.HasErrors() {
		return nil, diags
	}
	inputs := map[string]module.VariableInput{}
	for name, in := range one.Inputs {
		inputs[name] = module.VariableInput{Value: in.Value, From: "deployment", Range: in.Range}
	}
	if len(l.Vars) > 0 {
		given, more := s.Inputs(l.Vars)
		diags.Append(more)
		for name, in := range given {
			if in.From == "argument" || in.From == "file" {
				inputs[name] = in
			}
		}
	}
	if resolve == nil {
		resolve = s.ModulesInPlace(s.Files())
	}
	config, more := engine.Load(ctx, engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: s.Files(), Language: stack.Language{Dialect: s.Dialect}, Resolve: resolve})
	diags.Append(more)
	s.AddSources(config.Sources)
	if config.Tree == nil {
		return config, diags
	}
	if !diags.HasErrors() {
		diags.Append(stack.CheckTree(config.Tree))
		diags.Append(engine.CheckVersions(s.Dialect, config.Tree))
	}
	return config, diags
}

// State reads the state of a deployment, without its lock.
func (s *Stack) State(ctx context.Context, one *deploy.Deployment) (*state.Snapshot, diag.List) {
	opened, diags := s.StateIn(ctx, s.StackBackend(), one.Name, states.Options{}, "")
	if opened == nil {
		return nil, diags
	}
	return opened.Snapshot(), diags
}
