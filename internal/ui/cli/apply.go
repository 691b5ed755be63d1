package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/remoterun"
)

var applyCommand = &command{
	Name: "apply", Args: "[PLAN]", Max: 1,
	Synopsis: "Create or update infrastructure",
	Long:     "Plans, asks for approval, and applies. With a saved plan it applies that plan without a question. With -all it applies all root modules below the directory, upstream roots first. With -on=temporal, Temporal workers do that: see apply -on=temporal -help.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.register(e, fs)
		a.registerAll(fs)
		return func(ctx context.Context, args []string) int { return a.run(ctx, e, args) }
	},
}

var destroyCommand = &command{
	Name:     "destroy",
	Synopsis: "Destroy previously-created infrastructure",
	Long:     "Equals apply -destroy. With -all it destroys the objects of all root modules below the directory, downstream roots first. With -on=temporal, Temporal workers do that: see destroy -on=temporal -help.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.register(e, fs)
		a.registerAll(fs)
		flags.Hide(fs, "destroy", "refresh-only")
		return func(ctx context.Context, args []string) int {
			switch {
			case a.Destroy:
				return e.Fail(diag.Incompatible.As("Invalid mode option"), "The -destroy option is not valid for the destroy command, which always runs in destroy mode.")
			case a.RefreshOnly:
				return e.Fail(diag.Incompatible.As("Invalid mode option"), "The -refresh-only option is not valid for the destroy command.")
			}
			a.Destroy, a.destroying = true, true
			return a.run(ctx, e, args)
		}
	},
}

var refreshCommand = &command{
	Name:     "refresh",
	Synopsis: "Update the state to match remote systems",
	Long:     "Equals apply -refresh-only -auto-approve. To see the differences first, use plan -refresh-only.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.state.Register(fs)
		a.vars.Register(fs)
		flags.Lint(fs, &a.lint)
		flags.Stream(fs, e.Screen)
		flags.Input(fs, &e.input)
		a.RegisterScope(fs, "Refresh")
		flags.Parallelism(fs, &a.Parallelism)
		fs.BoolVar(&a.AllowDeferral, "allow-deferral", false, "Defer objects that can't be refreshed yet instead of failing.")
		flags.Refreshed(fs)
		a.RefreshOnly, a.approved, a.quiet = true, true, true
		return func(ctx context.Context, args []string) int { return a.run(ctx, e, args) }
	},
}

// applying has the flags of apply.
type applying struct {
	planning
	approved       bool
	suppressForget bool
	// destroying: the command is destroy. Programs expect other totals of it than of
	// apply -destroy or a saved plan.
	destroying bool
	// keepGoing: roots are applied although others can't be.
	keepGoing bool
	// quiet: programs aren't reported of a plan and an apply, only of what is refreshed.
	quiet bool
}

func (a *applying) registerAll(fs *flag.FlagSet) {
	a.roots.registerAll(fs)
	fs.BoolVar(&a.keepGoing, "keep-going", false, "With -all, apply the other roots if one can't be planned or is stale.")
}

func (a *applying) register(e *env, fs *flag.FlagSet) {
	a.planning.register(e, fs)
	fs.BoolVar(&a.approved, "auto-approve", false, "Don't ask for approval.")
	fs.BoolVar(&a.suppressForget, "suppress-forget-errors", false, "Succeed even if objects are forgotten instead of destroyed.")
	fs.StringVar(&a.generate, "generate-config-out", "", "")
}

func (a *applying) run(ctx context.Context, e *env, args []string) int {
	if a.roots.chosen() {
		return a.runAll(ctx, e, args)
	}
	if a.keepGoing {
		return e.Fail(diag.Incompatible.As("Options of several roots"), "The option -keep-going means several roots. Use it with -all or -root.")
	}
	if code := e.Start(); code != 0 {
		return code
	}
	if len(args) > 0 {
		return a.runSaved(ctx, e, args[0])
	}
	if e.JSON && !a.approved {
		return e.Fail(diag.BadOption.As("Plan file or auto-approve required"), "weir cannot ask for interactive approval when -json is set. You can either apply a saved plan file, or enable the -auto-approve option.")
	}
	options, diags := a.options(e, "apply")
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	runs, diags := e.directory.RemoteRuns(ctx, a.vars)
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	if runs != nil {
		return a.applyRemotely(ctx, e, runs, options)
	}
	options.Explained = options.Explained || !a.approved
	return e.apply(ctx, workspace.Plan{Opening: a.opening(e, "apply"), Options: options}, 1, &approver{env: e, approved: a.approved, quiet: a.quiet, allowForget: a.suppressForget, destroying: a.destroying})
}

// runSaved carries out a saved plan.
func (a *applying) runSaved(ctx context.Context, e *env, path string) int {
	if b, ok := e.directory.RemotePlan(path); ok {
		return a.applyBookmark(ctx, e, b)
	}
	content, diags := e.directory.ReadPlan(path)
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	runs, diags := e.directory.RemoteRuns(ctx, a.vars)
	switch {
	case diags.HasErrors():
		return e.Diags(diags)
	case runs != nil:
		return e.Fail(remoterun.Failed.As("Saved plan of this machine"), "The plan was made here, and %s applies the workspace %s now. Make a new plan, or set TF_FORCE_LOCAL_BACKEND=1 to apply this one.", runs.Host(), runs.Name())
	}
	agrees, diags := a.Agrees(content.Plan)
	switch {
	case diags.HasErrors():
		return e.Diags(diags)
	case !agrees:
		return e.Fail(diag.BadOption.As("Can't change a saved plan"), "The options -destroy, -refresh-only, -replace, -target and -exclude decide what is planned. The saved plan was made with other ones; leave them out, or make a new plan.")
	}
	opening := a.opening(e, "apply")
	opening.Ask, opening.Record = nil, false
	var keep func(*plan.Plan)
	opening.Sink, keep = e.Recorded(opening.Sink)
	defer keep(content.Plan)
	return e.apply(ctx, workspace.Plan{Subject: e.directory.Saved(content), Opening: opening}, 1, &approver{env: e, saved: true, quiet: a.quiet, allowForget: a.suppressForget})
}

// apply is an apply in the directory.
func (e *env) apply(ctx context.Context, p workspace.Plan, rounds int, by workspace.Approver) int {
	p.Dir = e.directory
	if !(workspace.Apply{Plan: p, Rounds: rounds}.Run(ctx, by)) {
		return 1
	}
	return 0
}

// An approver shows what is planned, asks whether to go on unless that is known,
// and shows what came of it.
type approver struct {
	env             *env
	approved, saved bool
	destroying      bool
	quiet           bool
	allowForget     bool
	deployment      bool // of a stack
	// rounds: what was deferred comes next without being asked for.
	rounds bool
	// work is what was planned.
	work *workspace.Work
	// rule decides before anybody is asked; nil leaves it to people.
	rule func(made *plan.Plan, found diag.List) (approved, refused bool)
}

// Opened implements workspace.Approver.
func (a *approver) Opened(found diag.List) { a.env.Diags(found) }

// Planned implements workspace.Approver.
func (a *approver) Planned(ctx context.Context, w *workspace.Work, made *plan.Plan, found diag.List) (diag.List, bool) {
	a.work = w
	switch {
	case made == nil:
		a.env.Diags(found)
		return nil, false
	case a.saved:
		if a.env.Stream != nil {
			a.env.Stream.Changes(made)
		}
		return found, true
	}
	if !a.quiet || !a.env.JSON || found.HasErrors() {
		a.env.showPlan(w, made)
	}
	if a.rounds {
		a.env.Notice(view.PutOff(made))
	}
	if found.HasErrors() || !a.approved {
		// They are to be known before the question.
		if a.env.Diags(found) != 0 {
			return nil, false
		}
		found = nil
	}
	if a.rule != nil && made.HasChanges() && !a.approved {
		if approved, refused := a.rule(made, found); approved || refused {
			return found, approved && !refused
		}
	}
	defer func() { w.Reasons, a.env.Because = nil, nil }() // they hold more than an apply needs
	return found, !made.HasChanges() || a.approved || a.approve(ctx, w, made)
}

// Limits implements workspace.Approver.
func (a *approver) Limits() (workspace.Limits, func()) {
	stop, end := a.env.interrupts.Begin()
	return workspace.Limits{Stop: stop, Saving: a.env.interrupts.Saving(), AllowForget: a.allowForget, ShowSensitive: a.env.ShowSensitive}, end
}

// Applied implements workspace.Approver.
func (a *approver) Applied(p *plan.Plan, o *workspace.Outcome, found diag.List) {
	a.env.Diags(found)
	if o == nil {
		serial, saved := a.work.State.Stored()
		a.env.Stopped(view.End{Plan: p, Doubts: journal.Instances(a.work.Doubts()), Serial: serial, Saved: saved, Program: a.env.program})
		return
	}
	if o.Doubted {
		a.env.Diags(o.Left)
	}
	a.applied(p, o)
	if !o.Doubted {
		a.env.Diags(o.Left)
	}
}

// Problem implements workspace.Approver.
func (a *approver) Problem(l diag.List) { a.env.Diags(l) }

// Again implements workspace.Approver.
func (a *approver) Again(round int) {
	if !a.env.JSON {
		a.env.Say("\nRound %d is done. Planning deferred changes...\n", round)
	}
}

// where names the deployment or the workspace of a plan, unless it is the usual one.
func (a *approver) where(name string) string {
	switch {
	case a.deployment:
		return fmt.Sprintf("deployment %q", name)
	case name != storage.DefaultWorkspace:
		return fmt.Sprintf("workspace %q", name)
	}
	return ""
}

// approve asks whether to go on.
func (a *approver) approve(ctx context.Context, w *workspace.Work, p *plan.Plan) bool {
	what, query, description := view.Approval(p, a.where(w.State.Workspace()))
	answer, err := output.Approval{Plan: p, Ask: func() (string, error) {
		return a.env.ask(ctx, question{query: "\n" + query, description: description, always: true})
	}, Reasons: w.Reasons, Person: a.env.inTerminal}.Put(a.env.Screen)
	switch {
	case errors.Is(err, context.Canceled):
		a.env.Say("\n%s cancelled.\n", what)
	case err != nil:
		a.env.Fail(diag.Unanswered.As("Error asking for approval"), "The answer can't be read: %s. Use -auto-approve to go on without asking.", err)
	case answer != "yes":
		a.env.Say("\n%s cancelled.\n", what)
	default:
		a.env.Say("\n")
		return true
	}
	return false
}

// applied shows the totals, unless programs are to be notified of outputs only, and the
// outputs. Anything that waits for objects in doubt isn't resolved by another round.
func (a *approver) applied(p *plan.Plan, o *workspace.Outcome) {
	counts := a.env.Counter.Counts()
	destroying := a.destroying || a.deployment && p.Mode == plan.Destroy
	outputs := o.State.Outputs
	if a.env.Stream != nil {
		if !a.quiet {
			a.env.Stream.Applied(counts, destroying, o.Doubted)
		}
		if !destroying {
			a.env.Written(a.env.Stream.Outputs(outputs))
		}
	}
	if a.env.JSON {
		return
	}
	if o.Doubted {
		a.env.Say("\n%s\n", a.env.Pen().Paint(stream.DoubtedText(counts, destroying), ansi.Bold, ansi.Yellow))
	} else {
		a.env.Say("\n%s\n", a.env.Pen().Paint(stream.AppliedText(counts, destroying), ansi.Bold, ansi.Green))
		if !a.rounds {
			a.env.Written(view.NextRound(a.env.Out, p, a.env.program, a.env.Viewing()))
		}
	}
	if !destroying {
		a.env.Written(view.OutputsAfterApply(a.env.Out, outputs, a.env.Viewing()))
	}
}
