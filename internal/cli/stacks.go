package cli

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/planner"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/removal"
	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/view/diags"
	"weir.dev/weir/internal/view/style"
)

var stacksCommands = []*command{
	{name: "stacks", synopsis: "Work with stacks: components and their deployments", long: "A stack is a directory with files that end in .tfcomponent.hcl, and its deployments are in files that end in .tfdeploy.hcl. Each deployment has its own states and its own lock. Without -deployment the commands work on all of them."},
	{name: "stacks init", synopsis: "Install the modules and providers of a stack", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		upgrade := fs.Bool("upgrade", false, "Take the newest versions that the constraints allow, whatever the lock file selects.")
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.init(ctx, *upgrade) }
	}},
	{name: "stacks validate", synopsis: "Check whether a stack is valid", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.validate(ctx) }
	}},
	{name: "stacks plan", synopsis: "Show what applying deployments would change", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		s.registerRun(fs)
		fs.BoolVar(&s.destroy, "destroy", false, "Plan to destroy everything that is managed.")
		fs.BoolVar(&s.detailed, "detailed-exitcode", false, "Exit with status 0 if there is nothing to do, 1 after an error and 2 if there are changes.")
		return func(ctx context.Context, _ []string) int { return s.each(ctx, false, (*stacking).planOne) }
	}},
	{name: "stacks apply", synopsis: "Create or update what deployments describe", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		s.registerRun(fs)
		fs.BoolVar(&s.approved, "auto-approve", false, "Don't ask for approval. Deployments are then applied at the same time.")
		fs.BoolVar(&s.destroy, "destroy", false, "Destroy everything that is managed.")
		return func(ctx context.Context, _ []string) int { return s.applyAll(ctx) }
	}},
	{name: "stacks destroy", synopsis: "Destroy what deployments have created", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e, destroy: true}
		s.register(fs)
		s.registerRun(fs)
		fs.BoolVar(&s.approved, "auto-approve", false, "Don't ask for approval. Deployments are then destroyed at the same time.")
		return func(ctx context.Context, _ []string) int { return s.applyAll(ctx) }
	}},
	{name: "stacks show", synopsis: "Show the states of deployments", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.show(ctx) }
	}},
	{name: "stacks output", args: "[NAME]", max: 1, synopsis: "Show the outputs of deployments", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, args []string) int { return s.output(ctx, strings.Join(args, "")) }
	}},
	{name: "stacks graph", synopsis: "Generate a Graphviz graph of a stack", setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		s.register(fs)
		return func(ctx context.Context, _ []string) int { return s.graph(ctx) }
	}},
}

// stacking has the flags of the commands for stacks.
type stacking struct {
	*env
	deployments                 texts
	destroy, approved, detailed bool
	parallelism                 int
	state                       stateFlags
}

func (s *stacking) register(fs *flag.FlagSet) {
	fs.Var(&s.deployments, "deployment", "Work on the deployment `NAME` only. May be repeated.")
	fs.BoolVar(&s.env.json, "json", false, "Print JSON, for programs.")
}

func (s *stacking) registerRun(fs *flag.FlagSet) {
	s.state.registerLock(fs)
	s.inputFlag(fs)
	registerParallelism(fs, &s.parallelism)
}

// chosen are the deployments that the command is about.
func (s *stacking) chosen() ([]*deploy.Deployment, diag.List) {
	all, diags := s.deploymentsOf()
	if diags.HasErrors() || len(s.deployments) == 0 {
		return all, diags
	}
	var list []*deploy.Deployment
	for _, name := range s.deployments {
		i := slices.IndexFunc(all, func(d *deploy.Deployment) bool { return d.Name == name })
		if i < 0 {
			var names []string
			for _, d := range all {
				names = append(names, d.Name)
			}
			diags.Errorf("Unknown deployment", "There is no deployment named %q. The deployments of this stack are: %s.", name, strings.Join(names, ", "))
			continue
		}
		if !slices.Contains(list, all[i]) {
			list = append(list, all[i])
		}
	}
	return list, diags
}

// each runs work for every chosen deployment, one after the other or at the
// same time. The result is the worst exit code.
func (s *stacking) each(ctx context.Context, parallel bool, work func(s *stacking, ctx context.Context, d *deploy.Deployment) int) int {
	list, diags := s.chosen()
	if len(diags) > 0 && s.env.diags(diags) != 0 {
		return 1
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	codes := make([]int, len(list))
	for i, d := range list {
		one := *s
		one.env = s.env.forDeployment(d.Name, len(list) > 1, parallel, &mu)
		run := func() {
			defer one.env.close()
			if codes[i] = one.env.startStream(); codes[i] == 0 {
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
	sub.closers = nil
	sub.sources = maps.Clone(e.sources)
	if !several {
		return &sub
	}
	switch {
	case e.json:
		sub.out = &lineWriter{to: e.out, mu: mu, change: func(line string) string {
			if rest, ok := strings.CutPrefix(line, "{"); ok {
				return `{"deployment":"` + name + `",` + rest
			}
			return line
		}}
	case parallel:
		tag := func(line string) string {
			if strings.TrimSpace(line) == "" {
				return line
			}
			return "[" + name + "] " + line
		}
		sub.out = &lineWriter{to: e.out, mu: mu, change: tag}
		sub.err = &lineWriter{to: e.err, mu: mu, change: tag}
	default:
		e.say("%s\n", e.pen().Paint("\nDeployment "+name+":", style.Bold))
	}
	return &sub
}

// makePlan plans a deployment, and holds its lock. What is wrong has been
// reported when the plan is nil.
func (s *stacking) makePlan(ctx context.Context, d *deploy.Deployment, operation string) (*workload, *plan.Plan) {
	e := s.env
	config, diags := s.load(ctx, d, nil)
	if diags.HasErrors() {
		e.diags(diags)
		return nil, nil
	}
	state, more := e.openWorkspace(stackBackend(), d.Name, s.state)
	diags.Append(more)
	if state != nil {
		diags.Append(e.lock(ctx, state, operation, s.state))
	}
	if !diags.HasErrors() {
		diags.Append(e.read(ctx, state))
	}
	if !diags.HasErrors() {
		diags.Append(e.provideFor(config, state.Prior()))
	}
	if diags.HasErrors() {
		e.diags(diags)
		return nil, nil
	}
	w := &workload{config: config, Session: state}
	o := engine.PlanOptions{AllowDeferral: true, InDoubt: w.Doubted()}
	if s.destroy || d.Destroy {
		o.Mode = plan.Destroy
	}
	made, more := engine.Plan(ctx, config, w.Snapshot(), o)
	if made != nil && o.Mode != plan.Destroy {
		if gone := removal.Unclaimed(made.Previous, made.Modules, made.Gone, config.Tree); gone.HasErrors() {
			// That their providers are gone too follows from it.
			more = more.Without(planner.ProviderGone)
			e.diags(append(append(diags, more...), gone...))
			return nil, nil
		}
	}
	diags.Append(more)
	if made == nil {
		e.diags(diags)
		return nil, nil
	}
	e.showPlan(made)
	if e.diags(diags) != 0 {
		return nil, nil
	}
	s.deferred(made)
	return w, made
}

// deferred tells what has to wait for another round.
func (s *stacking) deferred(p *plan.Plan) {
	if len(p.Deferred) == 0 || s.env.json {
		return
	}
	s.say("\nPut off until more is known:\n")
	for _, d := range p.Deferred {
		s.say("  - %s\n", d.Change.Addr)
	}
	s.say("Applying this plan goes on with another round for these.\n")
}

func (s *stacking) planOne(ctx context.Context, d *deploy.Deployment) int {
	w, made := s.makePlan(ctx, d, "plan")
	if made == nil {
		return 1
	}
	w.Unlock()
	if s.detailed && (made.HasChanges() || len(made.Deferred) > 0) {
		return exitChanges
	}
	return 0
}

func (s *stacking) applyAll(ctx context.Context) int {
	if s.env.json && !s.approved {
		return s.fail("Auto-approve required", "weir cannot ask for interactive approval when -json is set. Use -auto-approve.")
	}
	return s.each(ctx, s.approved, (*stacking).applyOne)
}

// rounds is how often apply goes on with what was put off.
const rounds = 10

func (s *stacking) applyOne(ctx context.Context, d *deploy.Deployment) int {
	for round := 1; ; round++ {
		w, made := s.makePlan(ctx, d, "apply")
		if made == nil {
			return 1
		}
		done := len(made.Deferred) == 0
		if made.HasChanges() && !s.approved {
			if code := s.approve(ctx, made, storage.DefaultWorkspace); code != 0 {
				w.Unlock()
				return code
			}
		}
		code := (&applying{}).carryOut(ctx, s.env, w, made, nil)
		w.Unlock()
		switch {
		case code != 0 || done || ctx.Err() != nil:
			return code
		case !made.HasChanges():
			return s.fail("Nothing left that would make more known", "Some objects are put off because it isn't known yet how many there are, and nothing else in this plan would change that. Look at the for_each arguments of the components above.")
		case round == rounds:
			return s.fail("Too many rounds", "After %d rounds there are still objects that are put off. Run apply again to go on.", rounds)
		}
		if !s.env.json {
			s.say("\nRound %d is done. Planning what was put off...\n", round)
		}
	}
}

func (s *stacking) validate(ctx context.Context) int {
	list, all := s.chosen()
	for _, d := range list {
		config, more := s.load(ctx, d, nil)
		if !more.HasErrors() {
			more.Append(s.provideFor(config, nil))
		}
		if !more.HasErrors() {
			more.Append(engine.Validate(ctx, config))
		}
		all = merged(all, more)
	}
	if s.env.json {
		s.say("%s", diags.Validation(all, s.sources))
	} else if s.env.diags(all) == 0 {
		s.say("%s The stack is valid.\n\n", s.pen().Paint("Success!", style.Bold, style.Green))
	}
	if all.HasErrors() {
		return 1
	}
	return 0
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
