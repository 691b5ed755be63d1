package cli

import (
	"context"
	"flag"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/webrun"
	"weir.dev/weir/internal/ui/webui"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/approvalpolicy"
	"weir.dev/weir/internal/workspace/planoptions"
)

var stacksCommands = slices.Concat([]*command{
	{Name: "stacks", Synopsis: "Work with stacks: components and their deployments", Long: "A stack is a directory with files that end in .tfcomponent.hcl. Its deployments are in files that end in .tfdeploy.hcl. Each deployment has its own states and lock. Without -deployment the commands work on all of them. With -on=temporal, Temporal workers run apply and destroy: see apply -on=temporal -help."},
	stacksCommand("init", "", "Install the modules and providers of a stack", func(s *stacking, fs *flag.FlagSet) runner {
		i := &initializing{env: s.env}
		i.RegisterStates(fs)
		flags.Input(fs, &s.env.input)
		return func(ctx context.Context, _ []string) int { return s.init(ctx, i) }
	}),
	stacksCommand("validate", "", "Check whether a stack is valid", func(s *stacking, _ *flag.FlagSet) runner { return s.validate }),
	stacksCommand("plan", "", "Show changes required by deployments", func(s *stacking, fs *flag.FlagSet) runner {
		s.registerRun(fs)
		fs.StringVar(&s.planning.out, "out", "", "Save the plan to `PATH` for apply: a file, or a folder for several deployments.")
		fs.BoolVar(&s.planning.detailed, "detailed-exitcode", false, "Exit with 0 without changes, 1 after an error, and 2 with changes.")
		return func(ctx context.Context, _ []string) int { return s.each(ctx, false, true, (*stacking).planOne) }
	}),
	stacksCommand("apply", "[PLAN]", "Create or update the objects of deployments", (*stacking).applying),
	stacksCommand("destroy", "", "Destroy the objects of deployments", func(s *stacking, fs *flag.FlagSet) runner {
		run := s.applying(fs)
		return func(ctx context.Context, args []string) int {
			s.planning.Destroy = true
			return run(ctx, args)
		}
	}),
	stacksCommand("ui", "", "Plan and apply deployments with a board in the browser", (*stacking).ui),
	stacksCommand("show", "", "Show the states of deployments", func(s *stacking, _ *flag.FlagSet) runner { return s.show }),
	stacksCommand("output", "[NAME]", "Show the outputs of deployments", func(s *stacking, _ *flag.FlagSet) runner { return s.output }),
	adoptCommand,
}, commands.Within("stacks", []*command{fmtCommand}, func(c *command, e *env, fs *flag.FlagSet) runner { return c.Setup(e, fs) }), commands.Durable[*env](), onDeployments(slices.Concat([]*command{consoleCommand, recoverCommand, unlockCommand, whyCommand, graphCommand, providersLockCommand}, stateCommands)))

// stacksCommand is a command on all deployments, or those that are named.
func stacksCommand(name, args, synopsis string, setup func(*stacking, *flag.FlagSet) runner) *command {
	return &command{Name: "stacks " + name, Args: args, Max: strings.Count(args, "["), Synopsis: synopsis, Setup: func(e *env, fs *flag.FlagSet) runner {
		s := &stacking{env: e}
		fs.Var(&s.deployments, "deployment", "Work only on the deployment `NAME`; repeatable.")
		fs.BoolVar(&s.env.JSON, "json", false, "Print JSON.")
		e.Command = commands.ForStacks(e.program, "")
		return setup(s, fs)
	}}
}

// onDeployments makes commands on a deployment of those on a directory.
func onDeployments(list []*command) []*command {
	return commands.Within("stacks", list, func(c *command, e *env, fs *flag.FlagSet) runner {
		name := fs.String("deployment", "", "Work on the deployment `NAME`; required if the stack has several.")
		run := c.Setup(e, fs)
		return func(ctx context.Context, args []string) int {
			if enter(ctx, e, *name, c != providersLockCommand && c != graphCommand) != 0 {
				return 1
			}
			return run(ctx, args)
		}
	})
}

// enter makes the directory that of a deployment.
func enter(ctx context.Context, e *env, name string, inputs bool) int {
	name, diags := workspace.EnterDeployment(ctx, e.directory, name, inputs)
	e.Command = commands.ForStacks(e.program, name)
	return e.Diags(diags.Only(diag.Error))
}

// stacking has the flags of the commands for stacks.
type stacking struct {
	env         *env
	planning    planning
	stack       *workspace.Stack
	deployments commands.Texts
	approved    bool
	follows     bool // with the stacks that read what this one publishes
	made        *plan.Plan
	board       *webui.Server // where deployments are followed and decided about; nil on terminals
}

func (s *stacking) registerRun(fs *flag.FlagSet) {
	s.planning.Plan.Register(fs)
	s.planning.state.RegisterLock(fs)
	s.planning.vars.Register(fs)
	flags.Input(fs, &s.env.input)
	flags.Detail(fs, s.env.Screen)
}

// applying registers the flags of apply.
func (s *stacking) applying(fs *flag.FlagSet) runner {
	s.registerRun(fs)
	fs.BoolVar(&s.approved, "auto-approve", false, "Don't ask for approval; apply deployments at the same time.")
	downstream := fs.Bool("downstream", true, "Don't apply stacks that read published outputs.")
	return func(ctx context.Context, args []string) int {
		s.follows = *downstream
		if len(args) > 0 {
			return s.applySaved(ctx, args[0])
		}
		return s.apply(ctx)
	}
}

// ui is apply with a board.
func (s *stacking) ui(fs *flag.FlagSet) runner {
	run := s.applying(fs)
	flags.Hide(fs, "json")
	port := fs.Int("port", 0, "Serve the page at port `N` (default: a free one).")
	return func(ctx context.Context, _ []string) int {
		if s.board = s.env.serve(ctx, *port); s.board == nil {
			return 1
		}
		defer s.board.Close()
		code := run(ctx, nil)
		s.board.Over(ctx, code == 0, !s.approved, s.env.Notice)
		return code
	}
}

// apply applies the deployments, and then the stacks that read what they publish.
func (s *stacking) apply(ctx context.Context) int {
	return s.share(ctx, s.each(ctx, !s.approved && s.board == nil, false, (*stacking).applyOne))
}

// share publishes what has come of applies that ended with a code, and continues downstream.
func (s *stacking) share(ctx context.Context, code int) int {
	if s.stack == nil || ctx.Err() != nil {
		return code
	}
	follow := s.follow
	if !s.follows {
		follow = nil
	}
	return max(code, s.env.Diags(s.stack.Share(ctx, follow)))
}

// follow applies a stack that reads what this one publishes, as far as its rules allow.
func (s *stacking) follow(ctx context.Context, d *workspace.Directory) bool {
	s.env.Notice("\nThe stack in " + d.Place.Seen(d.Place.Dir) + " reads outputs that have changed. Applying it by its own rules...\n")
	part := *s.env
	part.Screen = s.env.Part()
	part.Erred = new(atomic.Bool) // that it waits or fails is a warning here
	part.JSON, part.Stream, part.Out = false, nil, s.env.Err
	part.directory, part.program, part.Sources = d, d.Place.Program, d.Place.Sources
	next := &stacking{env: &part, follows: true}
	next.applying(flag.NewFlagSet("", flag.ContinueOnError)) // as without any flags
	part.input = false
	return next.apply(ctx) == 0
}

// applySaved carries out a saved plan, or those in a folder, in the deployments that they
// are of.
func (s *stacking) applySaved(ctx context.Context, path string) int {
	_, diags := s.chosen(ctx)
	if diags.HasErrors() {
		return s.env.Diags(diags)
	}
	files, names, more := workspace.SavedPlans(s.env.directory, path)
	if s.env.Diags(append(diags, more...)) != 0 {
		return 1
	}
	return s.share(ctx, s.several(names, 1, false, func(one *stacking, i int) int {
		if enter(ctx, one.env, names[i], true) != 0 {
			return 1
		}
		return (&applying{planning: one.planning}).runSaved(ctx, one.env, files[i])
	}))
}

// chosen are the stack and the deployments that the command is about, their inputs
// as far as they are in the files.
func (s *stacking) chosen(ctx context.Context) ([]*deploy.Deployment, diag.List) {
	var diags diag.List
	if s.stack, diags = workspace.OpenStack(ctx, s.env.directory); diags.HasErrors() {
		return nil, diags
	}
	list, more := s.stack.Choose(s.deployments)
	return list, append(diags, more...)
}

// each runs work for every chosen deployment: one after the other if it asks people, else
// at the same time, in turns or shown as it comes. The result is the worst exit code.
func (s *stacking) each(ctx context.Context, asks, inTurns bool, work func(s *stacking, ctx context.Context, d *deploy.Deployment) int) int {
	list, diags := s.chosen(ctx)
	if !diags.HasErrors() {
		diags.Append(s.stack.Prepare(ctx, list, len(s.deployments) == 0))
	}
	if len(diags) > 0 && s.env.Diags(diags) != 0 {
		return 1
	}
	if s.board != nil {
		s.board.Divide(deploy.Names(list))
		s.board.Stoppable(s.env.interrupts.Press)
	}
	atOnce := s.stack.Limit(s.planning.Parallelism)
	if asks {
		atOnce = 1
	}
	return s.several(deploy.Names(list), atOnce, inTurns, func(one *stacking, i int) int {
		if len(list) > 1 && s.planning.out != "" {
			one.planning.out = s.stack.PlanPath(s.planning.out, list[i])
		}
		return work(one, ctx, list[i])
	})
}

// several runs work for the deployments of those names, no more than atOnce at the same
// time, and sums up what came of them. The result is the worst exit code.
func (s *stacking) several(names []string, atOnce int, inTurns bool, work func(one *stacking, i int) int) int {
	several := len(names) > 1
	mixed := several && atOnce > 1 && !inTurns
	var mu sync.Mutex
	codes, sums := make([]int, len(names)), make([]view.Sum, len(names))
	s.env.Several("deployment", names, atOnce, inTurns, func(i int, part *output.Screen) {
		one := *s
		one.env = s.env.forDeployment(part, names[i], several, mixed, &mu)
		defer one.env.close()
		one.stack = s.stack.On(one.env.directory)
		if codes[i] = one.env.Start(); codes[i] == 0 {
			codes[i] = work(&one, i)
			sums[i].Components = one.env.Counter.Components()
		}
		if one.made != nil {
			sums[i].Planned, sums[i].Components = true, one.made.ByComponent()
		}
		sums[i].Name, sums[i].Code = names[i], codes[i]
	})
	if !s.env.JSON {
		s.env.Say("%s", view.Deployments(sums))
	}
	if slices.Contains(codes, 1) {
		return 1
	}
	return slices.Max(append(codes, 0))
}

// forDeployment is the environment of the work on one deployment of several.
func (e *env) forDeployment(on *output.Screen, name string, several, mixed bool, mu *sync.Mutex) *env {
	sub := e.part(on, "deployment", name, several, mixed, mu, e.directory)
	sub.Command = commands.ForStacks(e.program, name)
	return sub
}

// part is the environment of the work on one of several deployments or roots, in a directory: its
// output says which one it is about.
func (e *env) part(on *output.Screen, kind, name string, several, mixed bool, mu *sync.Mutex, d *workspace.Directory) *env {
	sub := *e
	switch {
	case several && (e.JSON || mixed):
		sub.Screen = on.Named(kind, name, mu)
	case several:
		on.Say("%s\n", e.Pen().Paint("\n"+strings.ToUpper(kind[:1])+kind[1:]+" "+name+":", ansi.Bold))
		fallthrough
	default:
		sub.Screen = on.Part()
	}
	reports := sub.reports()
	print := reports.Problem
	reports.Problem = func(l diag.List) {
		if l.HasErrors() {
			e.failed.Store(true)
		}
		print(l)
	}
	sub.directory = d.With(reports)
	sub.Sources = sub.directory.Place.Sources
	return &sub
}

// approver looks on while a deployment is planned or applied: rules are asked before
// people are.
func (s *stacking) approver(d *deploy.Deployment) *approver {
	a := &approver{env: s.env, approved: s.approved, rounds: true, deployment: true}
	a.rule = func(made *plan.Plan, found diag.List) (approved, refused bool) {
		v, diags := approvalpolicy.Decide(s.stack.Stack, d, made, found)
		s.env.Notice(view.Ruled(d.Name, v.Approved, v.By, v.Against))
		if refused = !v.Approved && (s.env.JSON || v.Ruled && !s.env.input); refused {
			diags.Add(v.Waits(d.Name, s.env.program))
		}
		return v.Approved, s.env.Diags(diags) != 0
	}
	return a
}

// prepared are the options and the opening of a plan for a deployment.
func (s *stacking) prepared(operationName string) (planoptions.Planning, workspace.Opening, int) {
	p, diags := s.planning.Choose()
	p.AllowDeferral, p.Explained = true, s.env.Brief() || operationName == "apply" || s.planning.out != ""
	o := s.planning.opening(s.env, operationName)
	o.Ask = nil
	return p, o, s.env.Diags(diags)
}

func (s *stacking) planOne(ctx context.Context, d *deploy.Deployment) int {
	p, o, code := s.prepared("plan")
	if code != 0 {
		return 1
	}
	w, made, found := workspace.Plan{Dir: s.env.directory, Subject: s.stack.Subject(d), Opening: o, Options: p}.Run(ctx)
	if w == nil {
		return s.env.Diags(found)
	}
	defer w.Unlock()
	a := s.approver(d)
	a.approved = true
	s.made = made
	left, ok := a.Planned(ctx, w, made, found)
	if s.env.Diags(left) != 0 || !ok {
		return 1
	}
	if s.planning.out != "" {
		if err := w.Save(ctx, s.planning.out, buildinfo.Current().Version, made); err != nil {
			return s.env.Fail(diag.Unwritable.As("Failed to write plan file"), "The plan file could not be written: %s.", err)
		}
		s.env.Notice(view.SavedPlan(s.env.program+" stacks", s.planning.out))
	}
	if s.planning.detailed && (made.HasChanges() || len(made.Deferred) > 0) {
		return exitChanges
	}
	return 0
}

func (s *stacking) applyOne(ctx context.Context, d *deploy.Deployment) int {
	// A round that failed may be planned again, so the last one decides, whatever was printed.
	s.env.Erred = new(atomic.Bool)
	p, o, code := s.prepared("apply")
	a := s.approver(d)
	command := workspace.StackApply{Stack: s.stack, Deployment: d, Opening: o, Options: p}
	switch {
	case code == 0 && s.board != nil:
		return s.env.followed(s.board.Part(d.Name), a).Of(ctx, &a.rule, func(sink event.Sink, by webrun.Approver[*workspace.Work, *workspace.Outcome, workspace.Limits]) bool {
			command.Opening.Sink = sink
			return command.Run(ctx, by)
		})
	case code != 0 || !command.Run(ctx, a):
		return 1
	}
	return 0
}

func (s *stacking) validate(ctx context.Context, _ []string) int {
	list, all := s.chosen(ctx)
	if !all.HasErrors() {
		all.Append(workspace.StackValidate{Stack: s.stack, Deployments: list}.Run(ctx))
	}
	if s.env.JSON {
		s.env.Validation(all)
	} else if s.env.Diags(all) == 0 {
		s.env.Say("%s The stack is valid.\n\n", s.env.Pen().Paint("Success!", ansi.Bold, ansi.Green))
	}
	if all.HasErrors() {
		return 1
	}
	return 0
}
