package workspace

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

// LeftOut is a deployment that has objects, and no block in the deployment files.
var LeftOut = diag.Code{Name: "deployment-without-block", Summary: "Deployment without a block"}

// findLeft looks for states of deployments that no file has.
func (s *Stack) findLeft(ctx context.Context) diag.List {
	names, err := s.shared.states.Workspaces(ctx)
	if err != nil {
		return diag.StateUnreadable.As("Failed to list the states of deployments").List("%s.", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == statemgr.PublishedName || slices.ContainsFunc(s.Deployments, func(d *deploy.Deployment) bool { return d.Name == name }) {
			continue
		}
		one := &deploy.Deployment{Name: name, Left: true, Inputs: map[string]deploy.Input{}}
		if state, _ := s.State(ctx, one); state == nil || len(state.Objects) > 0 {
			s.Left = append(s.Left, one)
		}
	}
	return nil
}

// TellLeft warns of the deployments that are left.
func (s *Stack) TellLeft() diag.List {
	var diags diag.List
	for _, d := range s.Left {
		diags.Add(s.leftOut(d, diag.Warning))
	}
	return diags
}

func (s *Stack) leftOut(d *deploy.Deployment, severity diag.Severity) diag.Diagnostic {
	return LeftOut.New(severity, "The deployment %q isn't in the deployment files any more, and its objects still exist. Put its block back, or destroy them with:\n    %s stacks destroy -deployment=%s", d.Name, s.Dir.Place.Program, d.Name)
}

// recallInputs gives a deployment the inputs that it had when it was last applied.
func (s *Stack) recallInputs(ctx context.Context, d *deploy.Deployment) diag.List {
	now, diags := s.State(ctx, d)
	if diags.HasErrors() {
		return diags
	}
	kept, err := shardedstate.Recall(now)
	if err != nil {
		return diag.Unreadable.As("Failed to read the inputs of a deployment").List("Those that the deployment %q had can't be read: %s.", d.Name, err)
	}
	for name, v := range kept.Values() {
		d.Inputs[name] = deploy.Input{Value: v}
	}
	return nil
}

// remembered is what is to be kept of a deployment.
func remembered(c *engine.Config, one *deploy.Deployment) *shardedstate.Memory {
	inputs := map[string]cty.Value{}
	for name, in := range one.Inputs {
		inputs[name] = in.Value
	}
	return shardedstate.Remember(c.Tree, inputs)
}
