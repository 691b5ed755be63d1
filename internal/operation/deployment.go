package operation

import (
	"context"
	"maps"
	"slices"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/operation/backend"
	"weir.dev/weir/internal/operation/states"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/stack"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/removal"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// Deployments reads the deployments of the stack.
func (d *Directory) Deployments() ([]*deploy.Deployment, diag.List) {
	list, sources, diags := deploy.Load(d.Files(), ".")
	d.AddSources(sources)
	return list, diags
}

// Deployment is the stack with the inputs and the state of a deployment.
func (d *Directory) Deployment(one *deploy.Deployment) Subject {
	return Subject{
		load: func(ctx context.Context, l Loading) (*engine.Config, diag.List) {
			return d.LoadDeployment(ctx, one, l)
		},
		backend:   func(*engine.Config) (*backend.Backend, diag.List) { return d.StackBackend(), nil },
		workspace: func() (string, diag.List) { return one.Name, nil },
		plan: func(ctx context.Context, w *Work, o engine.PlanOptions) (*plan.Plan, diag.List) {
			o.RemovedDestroys = false // a stack's removed blocks say what they do
			if one.Destroy {
				o.Mode = plan.Destroy
			}
			return w.planDeployment(ctx, o)
		},
	}
}

// planDeployment makes no plan where something is gone and nothing says what
// becomes of it.
func (w *Work) planDeployment(ctx context.Context, o engine.PlanOptions) (*plan.Plan, diag.List) {
	made, diags := engine.Plan(ctx, w.Config, w.Snapshot(), o)
	if made == nil || o.Mode == plan.Destroy {
		return made, diags
	}
	if gone := removal.Unclaimed(made.Previous, made.Modules, made.Gone, w.Config.Tree); gone.HasErrors() {
		// That their providers are gone too follows from it.
		diags = diags.Without(planner.ProviderGone)
		return nil, append(diags, gone...)
	}
	return made, diags
}

// LoadDeployment loads the stack with the inputs of a deployment. It may be there
// beside errors.
func (d *Directory) LoadDeployment(ctx context.Context, one *deploy.Deployment, l Loading) (*engine.Config, diag.List) {
	return d.loadDeployment(ctx, one, l, nil)
}

func (d *Directory) loadDeployment(ctx context.Context, one *deploy.Deployment, l Loading, resolve func(context.Context, module.Request) (string, diag.List)) (*engine.Config, diag.List) {
	l.workspace = storage.DefaultWorkspace
	world, diags := d.World(l)
	if diags.HasErrors() {
		return nil, diags
	}
	inputs := map[string]module.VariableInput{}
	for name, in := range one.Inputs {
		inputs[name] = module.VariableInput{Value: in.Value, From: "deployment", Range: in.Range}
	}
	config, more := engine.Load(ctx, engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: d.Files(), Language: stack.Language{Dialect: d.Dialect}, Resolve: resolve})
	diags.Append(more)
	d.AddSources(config.Sources)
	if config.Tree == nil {
		return config, diags
	}
	diags = merged(diags, checkInputs(config.Tree.Program, one))
	if !diags.HasErrors() {
		diags.Append(stack.CheckTree(config.Tree))
		diags.Append(d.CheckVersions(config.Tree))
	}
	return config, diags
}

// checkInputs compares the inputs of a deployment with the stack's variables.
func checkInputs(p *program.Program, d *deploy.Deployment) diag.List {
	var diags diag.List
	var names []string
	for _, v := range p.Variables {
		names = append(names, v.Name)
		if _, given := d.Inputs[v.Name]; given || !v.Required() {
			continue
		}
		if d.Range.Filename == "" {
			diags.ErrorAt(v.Range, "Missing deployment", "The stack needs a value for the variable %q, and there is no file with deployments that could give it. Write one whose name ends in .tfdeploy.hcl:\n    deployment \"NAME\" {\n      inputs = {\n        %s = VALUE\n      }\n    }", v.Name, v.Name)
			continue
		}
		diags.ErrorAt(d.Range, "Missing required input", "The deployment %q gives no value for the input %q, which is required. Add it to inputs.", d.Name, v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Inputs)) {
		if p.VariableByName[name] == nil {
			diags.ErrorAt(d.Inputs[name].Range, "Unsupported input", "The stack has no variable named %q.%s Remove the input, or declare the variable.", name, syntax.Suggest(name, names))
		}
	}
	return diags
}

// LoadStackModules loads the stack with the inputs of each deployment, installs
// the modules that they need on the way, and notes them. The result calls the
// stack once for each.
func (d *Directory) LoadStackModules(ctx context.Context, list []*deploy.Deployment, upgrade bool, tell func(line string)) (*program.Tree, diag.List) {
	installer, all := d.moduleInstaller(upgrade, tell)
	if all.HasErrors() {
		return nil, all
	}
	kept := module.Manifest{"": {Dir: "."}}
	deployed := addr.Call{Kind: addr.Stack, Name: "deployed"}
	trees := &program.Tree{Program: &program.Program{}, Variants: map[addr.Call][]*program.Tree{}}
	for _, one := range list {
		config, more := d.loadDeployment(ctx, one, Loading{}, installer.resolve)
		all = merged(all, more)
		if config == nil || config.Tree == nil {
			continue
		}
		for _, key := range config.Installed {
			kept[key] = installer.Manifest[key]
		}
		trees.Variants[deployed] = append(trees.Variants[deployed], config.Tree)
	}
	if !all.HasErrors() {
		all.Append(installer.note(kept))
	}
	return trees, all
}

// ValidateDeployments checks the stack with the inputs of each deployment.
func (d *Directory) ValidateDeployments(ctx context.Context, list []*deploy.Deployment) diag.List {
	var all diag.List
	for _, one := range list {
		config, more := d.LoadDeployment(ctx, one, Loading{})
		if !more.HasErrors() {
			more.Append(d.ProvideFor(config, nil))
		}
		if !more.HasErrors() {
			more.Append(engine.Validate(ctx, config))
		}
		all = merged(all, more)
	}
	return all
}

// DeploymentState reads the state of a deployment, without its lock.
func (d *Directory) DeploymentState(ctx context.Context, one *deploy.Deployment) (*state.Snapshot, diag.List) {
	s, diags := d.StateIn(ctx, d.StackBackend(), one.Name, states.Options{}, "")
	if s == nil {
		return nil, diags
	}
	return s.Snapshot(), diags
}

// merged adds diagnostics that aren't there already, as several deployments
// have the same.
func merged(all, more diag.List) diag.List {
	seen := map[string]bool{}
	key := func(d diag.Diagnostic) string {
		text := d.Summary + "\n" + d.Detail
		if d.Subject != nil {
			text += d.Subject.String()
		}
		return text
	}
	for _, d := range all {
		seen[key(d)] = true
	}
	for _, d := range more {
		if !seen[key(d)] {
			seen[key(d)] = true
			all.Add(d)
		}
	}
	return all
}
