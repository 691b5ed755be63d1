package cli

import (
	"context"
	"flag"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/front/view"
	"weir.dev/weir/internal/front/view/style"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/operation/request"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/word/diag"
)

var stacksCommands = []*command{
	{Name: "stacks", Synopsis: "Work with stacks: components and their deployments", Long: "A stack is a directory with files that end in .tfcomponent.hcl, and its deployments are in files that end in .tfdeploy.hcl. Each deployment has its own states and its own lock. Without -deployment the commands work on all of them."},
	{Name: "stacks init", Synopsis: "Install the modules and providers of a stack", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		upgrade := fs.Bool("upgrade", false, "Take the newest versions that the constraints allow, whatever the lock file selects.")
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.init(ctx, *upgrade) }
	}},
	{Name: "stacks validate", Synopsis: "Check whether a stack is valid", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.validate(ctx) }
	}},
	{Name: "stacks plan", Synopsis: "Show what applying deployments would change", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		s.registerRun(fs)
		fs.BoolVar(&s.destroy, "destroy", false, "Plan to destroy everything that is managed.")
		fs.BoolVar(&s.detailed, "detailed-exitcode", false, "Exit with status 0 if there is nothing to do, 1 after an error and 2 if there are changes.")
		return func(ctx context.Context, _ []string) int { return s.each(ctx, false, (*stacking).planOne) }
	}},
	{Name: "stacks apply", Synopsis: "Create or update what deployments describe", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		s.registerRun(fs)
		fs.BoolVar(&s.approved, "auto-approve", false, "Don't ask for approval. Deployments are then applied at the same time.")
		fs.BoolVar(&s.destroy, "destroy", false, "Destroy everything that is managed.")
		return func(ctx context.Context, _ []string) int { return s.applyAll(ctx) }
	}},
	{Name: "stacks destroy", Synopsis: "Destroy what deployments have created", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e, destroy: true}
		s.register(fs)
		s.registerRun(fs)
		fs.BoolVar(&s.approved, "auto-approve", false, "Don't ask for approval. Deployments are then destroyed at the same time.")
		return func(ctx context.Context, _ []string) int { return s.applyAll(ctx) }
	}},
	{Name: "stacks show", Synopsis: "Show the states of deployments", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.show(ctx) }
	}},
	{Name: "stacks output", Args: "[NAME]", Max: 1, Synopsis: "Show the outputs of deployments", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, args []string) int { return s.output(ctx, strings.Join(args, "")) }
	}},
	{Name: "stacks graph", Synopsis: "Generate a Graphviz graph of a stack", Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.graph(ctx) }
	}},
}

// stacking has the flags of the commands for stacks.
type stacking struct {
	*env
	stack                       *operation.Stack
	deployments                 texts
	destroy, approved, detailed bool
	parallelism                 int
	state                       stateFlags
}

func (s *stacking) register(fs *flag.FlagSet) {
	fs.Var(&s.deployments, "deployment", "Work on the deployment `NAME` only. May be repeated.")
	fs.BoolVar(&s.JSON, "json", false, "Print JSON, for programs.")
}

func (s *stacking) registerRun(fs *flag.FlagSet) {
	s.state.registerLock(fs)
	s.inputFlag(fs)
	registerParallelism(fs, &s.parallelism)
}

// chosen are the stack and the deployments that the command is about, their inputs
// as far as they are in the files.
func (s *stacking) chosen(ctx context.Context) ([]*deploy.Deployment, diag.List) {
	var diags, more diag.List
	if s.stack, diags = operation.OpenStack(ctx, s.directory); diags.HasErrors() {
		return nil, diags
	}
	list, more := s.stack.Choose(s.deployments)
	return list, append(diags, more...)
}

// planned are those chosen for work on them, with their inputs.
func (s *stacking) planned(ctx context.Context) ([]*deploy.Deployment, diag.List) {
	list, diags := s.chosen(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	diags.Append(s.stack.WantDeployments())
	if len(s.deployments) == 0 {
		diags.Append(s.stack.TellLeft())
	}
	if !diags.HasErrors() {
		diags.Append(s.stack.Evaluate(ctx, list))
	}
	return list, diags
}

// each runs work for every chosen deployment, one after the other or at the
// same time. The result is the worst exit code.
func (s *stacking) each(ctx context.Context, parallel bool, work func(s *stacking, ctx context.Context, d *deploy.Deployment) int) int {
	list, diags := s.planned(ctx)
	if len(diags) > 0 && s.Diags(diags) != 0 {
		return 1
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	codes := make([]int, len(list))
	for i, d := range list {
		one := *s
		one.env = s.env.forDeployment(d.Name, len(list) > 1, parallel, &mu)
		one.stack = s.stack.On(one.directory)
		run := func() {
			defer one.env.close()
			if codes[i] = one.Start(); codes[i] == 0 {
				codes[i] = work(&one, ctx, d)
			}
		}
		if parallel {
			wait.Go(run)
		} else {
			run()
		}
	}
	wait.Wait()
	if slices.Contains(codes, 1) {
		return 1
	}
	return slices.Max(append(codes, 0))
}

// forDeployment is the environment of the work on one deployment of several:
// its output says which one it is about.
func (e *env) forDeployment(name string, several, parallel bool, mu *sync.Mutex) *env {
	sub := *e
	switch {
	case several && (e.JSON || parallel):
		sub.Screen = e.Named("deployment", name, mu)
	default:
		sub.Screen = e.Part()
	}
	if several && !e.JSON && !parallel {
		e.Say("%s\n", e.Pen().Paint("\nDeployment "+name+":", style.Bold))
	}
	sub.directory = e.directory.With(sub.reports())
	sub.Sources = sub.directory.Sources
	return &sub
}

// A deploying is who looks on while a deployment is planned or applied.
type deploying struct {
	approver
	stacking *stacking
	opened   diag.List
}

func (s *stacking) deploying() *deploying {
	return &deploying{approver: approver{env: s.env, approved: s.approved}, stacking: s}
}

// Opened implements operation.Approver.
func (a *deploying) Opened(found diag.List) { a.opened = found }

// Planned implements operation.Approver.
func (a *deploying) Planned(ctx context.Context, _ *operation.Work, made *plan.Plan, found diag.List) (diag.List, bool) {
	found = append(a.opened, found...)
	if made == nil {
		a.Diags(found)
		return nil, false
	}
	a.showPlan(made)
	if a.Diags(found) != 0 {
		return nil, false
	}
	if !a.JSON {
		a.Say("%s", view.PutOff(made))
	}
	return nil, !made.HasChanges() || a.approved || a.approve(ctx, made, storage.DefaultWorkspace)
}

func (s *stacking) opening(operationName string) operation.Opening {
	return operation.Opening{
		Loading:   operation.Loading{Parallelism: s.parallelism, Sink: s.Sink()},
		State:     s.state.options(),
		Operation: operationName,
	}
}

func (s *stacking) planning() request.Planning {
	p := request.Planning{AllowDeferral: true}
	if s.destroy {
		p.Mode = plan.Destroy
	}
	return p
}

func (s *stacking) planOne(ctx context.Context, d *deploy.Deployment) int {
	w, diags := s.directory.Open(ctx, s.stack.Subject(d), s.opening("plan"))
	if w == nil {
		return s.Diags(diags)
	}
	defer w.Unlock()
	a := s.deploying()
	a.approved = true
	a.Opened(diags)
	made, found := w.Plan(ctx, s.planning())
	if _, ok := a.Planned(ctx, w, made, found); !ok {
		return 1
	}
	if s.detailed && (made.HasChanges() || len(made.Deferred) > 0) {
		return exitChanges
	}
	return 0
}

func (s *stacking) applyAll(ctx context.Context) int {
	if s.JSON && !s.approved {
		return s.Fail("Auto-approve required", "weir cannot ask for interactive approval when -json is set. Use -auto-approve.")
	}
	return s.each(ctx, s.approved, (*stacking).applyOne)
}

// rounds is how often apply goes on with what was put off.
const rounds = 10

func (s *stacking) applyOne(ctx context.Context, d *deploy.Deployment) int {
	return s.env.apply(ctx, s.stack.Subject(d), s.opening("apply"), s.planning(), rounds, s.deploying())
}

func (s *stacking) validate(ctx context.Context) int {
	list, all := s.chosen(ctx)
	if !all.HasErrors() {
		all.Append(s.stack.Validate(ctx, list))
	}
	if s.JSON {
		s.Validation(all)
	} else if s.Diags(all) == 0 {
		s.Say("%s The stack is valid.\n\n", s.Pen().Paint("Success!", style.Bold, style.Green))
	}
	if all.HasErrors() {
		return 1
	}
	return 0
}
