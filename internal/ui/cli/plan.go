package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/lint"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

var planCommand = &command{
	Name:     "plan",
	Synopsis: "Show changes required by the current configuration",
	Long:     "Compares the configuration with the state and with real objects, and shows the changes that apply would make. It changes nothing. With -all it plans all root modules below the directory together, and reads of each other's states give planned outputs.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var p planning
		p.register(e, fs)
		p.roots.registerAll(fs)
		flags.Hide(fs, "backup", "state-out")
		fs.StringVar(&p.out, "out", "", "Save the plan to `PATH` for apply.")
		fs.BoolVar(&p.detailed, "detailed-exitcode", false, "Exit with 0 without changes, 1 after an error, and 2 with changes.")
		fs.StringVar(&p.generate, "generate-config-out", "", "Write configuration for imported resources without one to a new file `PATH`.")
		return func(ctx context.Context, _ []string) int {
			if p.roots.chosen() {
				return p.runAll(ctx, e)
			}
			return p.run(ctx, e)
		}
	},
}

// planning has the flags of everything that begins with a plan.
type planning struct {
	flags.Plan
	state    flags.State
	vars     flags.Vars
	out      string
	generate string
	detailed bool
	lint     *lint.Rules
	roots    choosing
}

func (p *planning) register(e *env, fs *flag.FlagSet) {
	p.Plan.Register(fs)
	p.state.Register(fs)
	p.vars.Register(fs)
	flags.Lint(fs, &p.lint)
	flags.Stream(fs, e.Screen)
	flags.Input(fs, &e.input)
	flags.RemoteVersion(fs)
}

func (p *planning) run(ctx context.Context, e *env) int {
	if code := e.Start(); code != 0 {
		return code
	}
	if diags := planoptions.CheckOut(p.out); diags != nil {
		return e.Diags(diags)
	}
	options, diags := p.options(e, "plan")
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	runs, diags := e.directory.RemoteRuns(ctx, p.vars)
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	if runs != nil {
		return p.planRemotely(ctx, e, runs, options)
	}
	w, made, diags := workspace.Plan{Dir: e.directory, Opening: p.opening(e, "plan"), Options: options, Opened: e.warn}.Run(ctx)
	if w == nil {
		return e.Diags(diags)
	}
	defer w.Unlock()
	if made == nil {
		return e.Diags(diags)
	}
	e.showPlan(w, made)
	e.Because = nil // it holds all that was evaluated
	if p.out != "" {
		if err := w.Save(ctx, p.out, buildinfo.Current().Version, made); err != nil {
			diags.Add(diag.Unwritable.As("Failed to write plan file").New(diag.Error, "The plan file could not be written: %s.", err))
		}
	}
	if e.Diags(diags) != 0 {
		return 1
	}
	if !e.JSON && !e.Automation {
		e.Say("%s", view.NextSteps(made.HasChanges(), e.program, p.out, e.Viewing()))
	}
	if p.detailed && (made.HasChanges() || len(made.Deferred) > 0) {
		return exitChanges
	}
	return 0
}

// options are what the flags say of the plan for the command of that name.
func (p *planning) options(e *env, command string) (planoptions.Planning, diag.List) {
	o, diags := p.Choose()
	o.Generate, o.Explained = p.generate, e.Brief() || p.out != ""
	diags.Append(e.directory.Check(o, command))
	return o, diags
}

// opening is what the flags say of the configuration and the state.
func (p *planning) opening(e *env, command string) workspace.Opening {
	return workspace.Opening{
		Loading:   workspace.Loading{Vars: p.vars, Parallelism: p.Parallelism, Sink: e.Sink(), Ask: e.asker(), Record: p.out != "", Lint: p.lint},
		State:     p.state.Options(),
		Operation: command, Partly: command == "plan" && p.IsPlainAuto() && p.out+p.generate == "" && !e.JSON,
	}
}

// warn prints problems that aren't errors.
func (e *env) warn(l diag.List) { e.Diags(l) }

// showPlan shows a plan to people or as part of the stream.
func (e *env) showPlan(w *workspace.Work, p *plan.Plan) {
	if e.Stream != nil {
		e.Stream.Plan(p)
	}
	if e.JSON || p.Errored && len(p.Changes)+p.Unplanned == 0 {
		return
	}
	e.Because = w.Reasons.Because(p)
	e.Written(e.Plan(p))
}
