package cli

import (
	"context"
	"slices"

	"weir.dev/weir/internal/front/view"
	"weir.dev/weir/internal/front/view/dot"
	"weir.dev/weir/internal/front/view/jsonstate"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/diag"
)

// init installs what all deployments need.
func (s *stacking) init(ctx context.Context, upgrade bool) int {
	if code := s.Start(); code != 0 {
		return code
	}
	list, all := s.chosen(ctx)
	if all.HasErrors() {
		return s.Diags(all)
	}
	i := &initializing{env: s.env}
	all.Append(s.stack.Initialize(ctx, list, upgrade, i))
	if s.Diags(all) != 0 {
		return 1
	}
	i.tell("output_init_success_message", "\nThe stack has been successfully initialized! You may now begin with\n\"%s stacks plan\" and \"%s stacks apply\".\n", s.program, s.program)
	return 0
}

// states reads the states of the chosen deployments, without locks.
func (s *stacking) states(ctx context.Context) ([]*deploy.Deployment, []*state.Snapshot, diag.List) {
	list, diags := s.chosen(ctx)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	if len(s.deployments) == 0 {
		list = slices.Concat(list, s.stack.Left)
	}
	var states []*state.Snapshot
	for _, d := range list {
		one, more := s.stack.State(ctx, d)
		diags.Append(more)
		if one == nil {
			break
		}
		states = append(states, one)
	}
	return list, states, diags
}

func (s *stacking) show(ctx context.Context) int {
	list, states, diags := s.states(ctx)
	if s.Diags(diags) != 0 {
		return 1
	}
	if s.JSON {
		all := map[string]*state.Snapshot{}
		for i, d := range list {
			all[d.Name] = states[i]
		}
		text, err := jsonstate.Deployments(all)
		return s.Document(text, err, "states")
	}
	for i, d := range list {
		s.Say("Deployment %s:\n", d.Name)
		if states[i].IsEmpty() {
			s.Say("The state is empty.\n\n")
			continue
		}
		if code := s.showState(ctx, states[i], false); code != 0 {
			return code
		}
		s.Say("\n")
	}
	return 0
}

func (s *stacking) output(ctx context.Context, name string) int {
	list, states, diags := s.states(ctx)
	if s.Diags(diags) != 0 {
		return 1
	}
	for i := range list {
		if _, ok := states[i].Outputs[name]; name != "" && !ok {
			return s.Fail("Output \""+name+"\" not found", "The state of deployment %q has no output of that name. Outputs are there once the deployment was applied.", list[i].Name)
		}
	}
	if s.JSON {
		all := map[string]map[string]state.Output{}
		for i, d := range list {
			all[d.Name] = states[i].Outputs
		}
		text, err := jsonstate.DeploymentOutputs(all, name)
		return s.Document(text, err, "outputs")
	}
	for i, d := range list {
		if len(list) > 1 {
			s.Say("Deployment %s:\n", d.Name)
		}
		if name != "" {
			s.Say("%s\n", view.Value(states[i].Outputs[name].Value, 0))
			continue
		}
		if code := s.Written(view.Outputs(s.Out, states[i].Outputs, s.Viewing())); code != 0 {
			return code
		}
	}
	return 0
}

// graph prints the references of the first chosen deployment: the graph is the
// same for all but for sources that depend on inputs.
func (s *stacking) graph(ctx context.Context) int {
	list, diags := s.planned(ctx)
	if s.Diags(diags) != 0 {
		return 1
	}
	config, diags := s.stack.Load(ctx, list[0], operation.Loading{})
	s.JSON = true // warnings must not mix with the graph
	if s.Diags(diags) != 0 {
		return 1
	}
	return s.Written(dot.Configuration(s.Out, config.Tree))
}
