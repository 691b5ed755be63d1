package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/approvalpolicy"
	"weir.dev/weir/internal/workspace/providersource"
)

// examples are the deployments that a stack is inspected with where nothing is planned: those
// given, or one without inputs.
func examples(list []*deploy.Deployment) []*deploy.Deployment {
	if len(list) == 0 {
		return []*deploy.Deployment{{Name: deploy.Default, Inputs: map[string]deploy.Input{}}}
	}
	return list
}

// StackInit installs the modules and providers that deployments need, those that
// are left included.
type StackInit struct {
	Stack       *Stack
	Deployments []*deploy.Deployment
	Init        Init // in the directory of the stack
}

// Run prepares the directory of the stack.
func (c StackInit) Run(ctx context.Context, told Initializer) diag.List {
	s, list := c.Stack, c.Deployments
	if diags := c.backend(ctx, told); diags.HasErrors() {
		return diags
	}
	deployed := addr.Call{Kind: addr.Stack, Name: "deployed"}
	trees := &program.Tree{Program: &program.Program{}, Variants: map[addr.Call][]*program.Tree{}}
	diags := s.Stack.Evaluate(list, nil)
	diags.Append(s.Dir.InstallModules(c.Init.Upgrade, told, func(resolve func(context.Context, module.Request) (string, diag.List)) ([]string, diag.List) {
		var all diag.List
		var used []string
		for _, one := range examples(list) {
			config, more := s.load(ctx, one, Loading{}, resolve)
			all = all.Merged(more)
			if config == nil || config.Tree == nil {
				continue
			}
			all = all.Merged(one.UnusedInputs(config.Tree.Program))
			used = append(used, config.Installed...)
			trees.Variants[deployed] = append(trees.Variants[deployed], config.Tree)
			if !config.Tree.Varies() {
				break
			}
		}
		return used, all
	}))
	if diags.HasErrors() {
		return diags
	}
	var kept []*state.Snapshot
	for _, d := range slices.Concat(list, s.Left) {
		if one, _ := s.State(ctx, d); one != nil {
			kept = append(kept, one)
		}
	}
	return append(diags, s.Dir.InstallProviders(ctx, trees, kept, c.Init.Upgrade, told)...)
}

// backend makes what the settings of the stack say the place of its states, and
// looks there for deployments that are left.
func (c StackInit) backend(ctx context.Context, told Initializer) diag.List {
	s := c.Stack
	i := &initialization{Init: c.Init, told: told, deployments: deploy.Names(s.Deployments)}
	i.Dir = s.Dir
	var diags, more diag.List
	i.inputs, diags = s.Dir.Place.Inputs(i.Vars)
	i.prog, more = s.Dir.Settings.RootSettings()
	if diags.Append(more); diags.HasErrors() {
		return diags
	}
	if record, err := s.Dir.Settings.Record().Backend(); i.Backend && (i.prog.Backend != nil || record != nil || err != nil) {
		told.Begins(BackendPart)
		if _, more := i.backend(ctx); more.HasErrors() {
			return more
		}
	}
	if s.shared.states, diags = s.Dir.States.StackBackend(i.deployments...); s.shared.states == nil {
		return diags
	}
	s.Left = nil
	return append(diags, s.findLeft(ctx)...)
}

// StackValidate checks a stack with the inputs of each deployment, as far as they are
// known without asking for tokens and the like.
type StackValidate struct {
	Stack       *Stack
	Deployments []*deploy.Deployment
}

// Run returns what is wrong. Without all providers it says of which it couldn't check the
// arguments.
func (c StackValidate) Run(ctx context.Context) diag.List {
	s, list := c.Stack, c.Deployments
	all := s.Dir.Settings.CheckSettings()
	all.Append(approvalpolicy.Check(s.Stack))
	all.Append(s.Stack.Evaluate(list, nil))
	var absent []addr.Provider
	var uninstalled diag.List
	checked := false
	for _, one := range examples(list) {
		config, more := s.load(ctx, one, Loading{}, nil)
		more, missing := more.Apart(module.NotInstalled)
		uninstalled = uninstalled.Merged(missing)
		if config == nil || config.Tree == nil {
			all = all.Merged(more)
			continue
		}
		if one.Range.Filename != "" {
			more.Append(one.CheckInputs(config.Tree.Program, config.Inputs, diag.Warning))
			more.Append(checkValues(config.Tree.Program, one))
		}
		if !more.HasErrors() && (!checked || config.Tree.Varies()) {
			checked = true
			missing, problems := s.Dir.ProvideFound(config)
			absent = missing
			problems.Append(s.Dir.Providers.CheckLocks(providersource.Requirements(config.Tree, nil)))
			if more.Append(problems); !problems.HasErrors() {
				more.Append(engine.Validate(ctx, config).Without(provider.Absent).Without(module.NotInstalled))
			}
		}
		all = all.Merged(more)
	}
	for _, d := range uninstalled {
		d.Severity, d.Summary = diag.Warning, "Module not installed"
		d.Detail = fmt.Sprintf("It wasn't checked, and neither was what depends on its outputs. To install it, run:\n    %s stacks init", s.Dir.Place.Program)
		all.Add(d)
	}
	if len(absent) > 0 {
		var names []string
		for _, p := range absent {
			names = append(names, p.ForDisplay())
		}
		all.Add(provider.Absent.New(diag.Warning, "The arguments of resources and provider configurations weren't checked for these providers, and neither was what depends on their values:\n  - %s\nTo install them, run:\n    %s stacks init", strings.Join(names, "\n  - "), s.Dir.Place.Program))
	}
	return all
}

// checkValues holds inputs to the types of the stack's variables.
func checkValues(p *program.Program, one *deploy.Deployment) diag.List {
	var diags diag.List
	for _, v := range p.Variables {
		if in, ok := one.Inputs[v.Name]; ok {
			_, more := eval.PrepareVariable(v, in.Value, in.Range)
			diags.Append(more)
		}
	}
	return diags
}
