package cli

import (
	"context"
	"errors"
	"flag"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/stream"
	"weir.dev/weir/internal/view/style"
)

var applyCommand = &command{
	name: "apply", main: true, args: "[PLAN]", max: 1,
	synopsis: "Create or update infrastructure",
	long:     "Without a saved plan one is made, shown, and carried out once it is approved. A saved plan is carried out as it is.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.register(e, fs)
		return func(ctx context.Context, args []string) int { return a.run(ctx, e, args) }
	},
}

var destroyCommand = &command{
	name: "destroy", main: true,
	synopsis: "Destroy previously-created infrastructure",
	long:     "The same as apply -destroy.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.register(e, fs)
		return func(ctx context.Context, args []string) int {
			switch {
			case a.destroy:
				return e.fail("Invalid mode option", "The -destroy option is not valid for the destroy command, which always runs in destroy mode.")
			case a.refreshOnly:
				return e.fail("Invalid mode option", "The -refresh-only option is not valid for the destroy command.")
			}
			a.destroy = true
			return a.run(ctx, e, args)
		}
	},
}

var refreshCommand = &command{
	name:     "refresh",
	synopsis: "Update the state to match remote systems",
	long:     "The same as apply -refresh-only -auto-approve. plan -refresh-only shows the differences first.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var a applying
		a.state.register(fs)
		a.vars.register(fs)
		e.streamFlags(fs)
		fs.Var(&a.target, "target", "Refresh the object at `ADDRESS` and what it depends on, and nothing else. May be repeated.")
		fs.Var(&a.targetFile, "target-file", "Read addresses as for -target from `FILE`, one a line.")
		fs.Var(&a.exclude, "exclude", "Leave out the object at `ADDRESS` and what depends on it. May be repeated.")
		fs.Var(&a.excludeFile, "exclude-file", "Read addresses as for -exclude from `FILE`, one a line.")
		registerParallelism(fs, &a.parallelism)
		fs.BoolVar(&a.deferral, "allow-deferral", false, "Put off what can't be refreshed yet instead of failing.")
		a.refresh, a.refreshOnly, a.approved, a.quiet = true, true, true, true
		return func(ctx context.Context, args []string) int { return a.run(ctx, e, args) }
	},
}

// applying has the flags of apply.
type applying struct {
	planning
	approved       bool
	suppressForget bool
	// quiet: programs aren't told of a plan and an apply, only of what is
	// refreshed.
	quiet bool
}

func (a *applying) register(e *env, fs *flag.FlagSet) {
	a.planning.register(e, fs)
	fs.BoolVar(&a.approved, "auto-approve", false, "Don't ask for approval.")
	fs.BoolVar(&a.suppressForget, "suppress-forget-errors", false, "Succeed although objects were forgotten rather than destroyed.")
	fs.StringVar(&a.generate, "generate-config-out", "", "")
}

func (a *applying) run(ctx context.Context, e *env, args []string) int {
	if code := e.startStream(); code != 0 {
		return code
	}
	if len(args) > 0 {
		return a.runSaved(ctx, e, args[0])
	}
	if e.json && !a.approved {
		return e.fail("Plan file or auto-approve required", "weir cannot ask for interactive approval when -json is set. You can either apply a saved plan file, or enable the -auto-approve option.")
	}
	options, diags := a.options(e, "apply")
	if diags.HasErrors() {
		return e.diags(diags)
	}
	return e.apply(ctx, e.directory.Configuration(), a.opening(e, "apply"), options, 1, &approver{env: e, approved: a.approved, quiet: a.quiet, allowForget: a.suppressForget})
}

// runSaved carries out a saved plan.
func (a *applying) runSaved(ctx context.Context, e *env, path string) int {
	content, diags := e.directory.ReadPlan(path)
	if diags.HasErrors() {
		return e.diags(diags)
	}
	if a.planFlags.given() {
		return e.fail("Can't change a saved plan", "The options -destroy, -refresh-only, -replace, -target and -exclude decide what is planned. A saved plan was made already; leave them out, or make a new plan.")
	}
	opening := a.opening(e, "apply")
	opening.Ask, opening.Record = nil, false
	return e.apply(ctx, e.directory.Saved(content), opening, operation.Planning{}, 1, &approver{env: e, saved: true, quiet: a.quiet, allowForget: a.suppressForget})
}

// apply is an apply with somebody who looks on.
func (e *env) apply(ctx context.Context, s operation.Subject, o operation.Opening, p operation.Planning, rounds int, a operation.Approver) int {
	if !e.directory.Apply(ctx, s, o, p, rounds, a) {
		return 1
	}
	return 0
}

// An approver shows what is planned, asks whether to go on unless that is known,
// and shows what came of it.
type approver struct {
	*env
	approved, saved bool
	quiet           bool
	allowForget     bool
}

// Opened implements operation.Approver.
func (a *approver) Opened(found diag.List) { a.diags(found) }

// Planned implements operation.Approver.
func (a *approver) Planned(ctx context.Context, w *operation.Work, made *plan.Plan, found diag.List) (diag.List, bool) {
	switch {
	case made == nil:
		a.diags(found)
		return nil, false
	case a.saved:
		if a.stream != nil {
			a.stream.Changes(made)
		}
		return found, true
	}
	if !a.quiet || !a.env.json || found.HasErrors() {
		a.showPlan(made)
	}
	if found.HasErrors() || !a.approved {
		// They are to be known before the question.
		if a.diags(found) != 0 {
			return nil, false
		}
		found = nil
	}
	return found, !made.HasChanges() || a.approved || a.approve(ctx, made, w.Workspace())
}

// Limits implements operation.Approver.
func (a *approver) Limits() (operation.Limits, func()) {
	stop, end := a.interrupts.Begin()
	return operation.Limits{Stop: stop, Saving: a.interrupts.Saving(), AllowForget: a.allowForget}, end
}

// Applied implements operation.Approver.
func (a *approver) Applied(p *plan.Plan, o *operation.Outcome, found diag.List) {
	a.diags(found)
	if o == nil {
		return
	}
	if o.Doubted {
		a.diags(o.Left)
	}
	a.applied(p, o, a.quiet)
	if !o.Doubted {
		a.diags(o.Left)
	}
}

// Problem implements operation.Approver.
func (a *approver) Problem(l diag.List) { a.diags(l) }

// Again implements operation.Approver.
func (a *approver) Again(round int) {
	if !a.env.json {
		a.say("\nRound %d is done. Planning what was put off...\n", round)
	}
}

// approve asks whether to go on.
func (e *env) approve(ctx context.Context, p *plan.Plan, workspace string) bool {
	q := question{
		query:       "Do you want to perform these actions?",
		description: "weir will perform the actions described above.\nOnly 'yes' will be accepted to approve.",
		always:      true,
	}
	what := "Apply"
	suffix := ""
	if workspace != "default" {
		suffix = " in workspace \"" + workspace + "\""
		q.query = "Do you want to perform these actions" + suffix + "?"
	}
	switch p.Mode {
	case plan.Destroy:
		what = "Destroy"
		q.query = "Do you really want to destroy all resources" + suffix + "?"
		q.description = "weir will destroy all your managed infrastructure, as shown above.\nThere is no undo. Only 'yes' will be accepted to confirm."
	case plan.RefreshOnly:
		q.query = "Would you like to update the state" + suffix + " to reflect these detected changes?"
		q.description = "weir will write these changes to the state without modifying any real infrastructure.\nThere is no undo. Only 'yes' will be accepted to confirm."
	}
	answer, err := e.ask(ctx, q)
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case err != nil:
		e.fail("Error asking for approval", "The answer can't be read: %s. Use -auto-approve to go on without asking.", err)
		return false
	case answer != "yes":
		e.say("\n%s cancelled.\n", what)
		return false
	}
	e.say("\n")
	return true
}

// applied shows the totals, unless programs are to be told of outputs alone, and
// the outputs. What waits for objects in doubt isn't settled by another round.
func (e *env) applied(p *plan.Plan, o *operation.Outcome, quiet bool) {
	counts := e.counter.Counts()
	destroy := p.Mode == plan.Destroy
	outputs := o.State.Outputs
	if e.stream != nil {
		if !quiet {
			e.stream.Applied(counts, destroy, o.Doubted)
		}
		if !destroy {
			e.written(e.stream.Outputs(outputs))
		}
	}
	if e.json {
		return
	}
	if o.Doubted {
		e.say("\n%s\n", e.pen().Paint(stream.DoubtedText(counts, destroy), style.Bold, style.Yellow))
	} else {
		e.say("\n%s\n", e.pen().Paint(stream.AppliedText(counts, destroy), style.Bold, style.Green))
		e.written(view.NextRound(e.out, p, e.program, e.viewing()))
	}
	if !destroy {
		e.written(view.OutputsAfterApply(e.out, outputs, e.viewing()))
	}
}
