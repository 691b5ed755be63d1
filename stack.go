package weir

import (
	"context"

	"weir.dev/weir/internal/workspace"
)

// A Stack is a stack of components with its deployments: the .tfcomponent.hcl and .tfdeploy.hcl files
// of a directory.
type Stack struct{ dir *Workspace }

// OpenStack opens the stack in a directory. Of the options, [Options.Workspace] and
// [Options.Variables] must be empty: a deployment has its own name and inputs. Nothing is read yet.
func OpenStack(dir string, o Options) (*Stack, error) {
	w, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &Stack{w}, nil
}

// Init makes all deployments ready: modules and providers.
func (s *Stack) Init(ctx context.Context, o InitOptions) error {
	d := s.dir.begin()
	defer d.Close()
	stack, diags := workspace.OpenStack(ctx, d)
	if err := s.dir.failure(ctx, diags); err != nil {
		return err
	}
	return s.dir.failure(ctx, workspace.StackInit{Stack: stack, Deployments: stack.Deployments, Init: s.dir.initialization(d, o)}.Run(ctx, initializer{o}))
}

// Deployments are the names of those in the files, in order.
func (s *Stack) Deployments(ctx context.Context) ([]string, error) {
	d := s.dir.begin()
	defer d.Close()
	stack, diags := workspace.LoadStack(d)
	if err := s.dir.failure(ctx, diags); err != nil {
		return nil, err
	}
	var names []string
	for _, one := range stack.Deployments {
		names = append(names, one.Name)
	}
	return names, nil
}

// Deployment opens a deployment, with the inputs that it has now: its methods plan and apply it, and
// read its state. [PlanOptions.AllowDeferral] plans what can be planned first where components depend on each
// other's results. The caller closes it.
func (s *Stack) Deployment(ctx context.Context, name string) (*Workspace, error) {
	w := &Workspace{options: s.dir.options, config: s.dir.config}
	w.memory = workspace.New(w.config)
	stack, diags := workspace.OpenStack(ctx, w.memory)
	if diags.HasErrors() {
		return nil, w.failure(ctx, diags)
	}
	list, diags := stack.Choose([]string{name})
	if !diags.HasErrors() {
		diags = stack.Prepare(ctx, list, false)
	}
	if !diags.HasErrors() {
		_, diags = stack.ForDeployment(ctx, name, true)
	}
	if err := w.failure(ctx, diags); err != nil {
		return nil, err
	}
	return w, nil
}

// Close removes what was kept of the stack for its operations only. States stay.
func (s *Stack) Close() error { return s.dir.Close() }
