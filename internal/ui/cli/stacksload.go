package cli

import (
	"context"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/workspace"
)

// init installs what all deployments need.
func (s *stacking) init(ctx context.Context, i *initializing) int {
	if code := s.env.Start(); code != 0 {
		return code
	}
	if diags := i.Init.Choose(s.env.JSON); diags != nil {
		return s.env.Diags(diags)
	}
	list, all := s.chosen(ctx)
	if all.HasErrors() {
		return s.env.Diags(all)
	}
	all.Append(workspace.StackInit{Stack: s.stack, Deployments: list, Init: i.options()}.Run(ctx, i))
	if s.env.Diags(all) != 0 {
		return 1
	}
	i.tell("output_init_success_message", "\nThe stack has been successfully initialized! You may now begin with\n\"%s stacks plan\" and \"%s stacks apply\".\n", s.env.program, s.env.program)
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
	states, more := s.stack.States(ctx, list)
	return list, states, append(diags, more...)
}

func (s *stacking) show(ctx context.Context, _ []string) int {
	list, states, diags := s.states(ctx)
	if s.env.Diags(diags) != 0 {
		return 1
	}
	if s.env.JSON {
		all := map[string]*state.Snapshot{}
		for i, d := range list {
			all[d.Name] = states[i]
		}
		text, err := jsonstate.Deployments(all)
		return s.env.Document(text, err, "states")
	}
	for i, d := range list {
		s.env.Say("Deployment %s:\n", d.Name)
		if states[i].IsEmpty() {
			s.env.Say("The state is empty.\n\n")
			continue
		}
		if code := s.env.showState(ctx, states[i]); code != 0 {
			return code
		}
		s.env.Say("\n")
	}
	return 0
}

func (s *stacking) output(ctx context.Context, args []string) int {
	name := strings.Join(args, "")
	list, states, diags := s.states(ctx)
	if s.env.Diags(diags) != 0 {
		return 1
	}
	all, diags := view.OutputsOf(deploy.Names(list), states, name)
	if s.env.Diags(diags) != 0 {
		return 1
	}
	if s.env.JSON {
		text, err := jsonstate.DeploymentOutputs(all, name)
		return s.env.Document(text, err, "outputs")
	}
	return s.env.Written(view.DeploymentOutputs(s.env.Out, deploy.Names(list), all, name, s.env.Viewing()))
}
