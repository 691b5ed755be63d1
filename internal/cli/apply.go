package cli

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/planfile"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/session"
	"weir.dev/weir/internal/state"
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
	w, made, diags := a.make(ctx, e, "apply")
	if made == nil {
		return 1
	}
	defer w.Unlock()
	if !a.quiet || !e.json || diags.HasErrors() {
		e.showPlan(made)
	}
	if diags.HasErrors() || !a.approved {
		// They are to be known before the question.
		if e.diags(diags) != 0 {
			return 1
		}
		diags = nil
	}
	if made.HasChanges() && !a.approved {
		if code := e.approve(ctx, made, w.Workspace()); code != 0 {
			return code
		}
	}
	return a.carryOut(ctx, e, w, made, diags)
}

// outlasting are the problems of planning that are still to be told beside those
// of applying: what both found is one problem, and what only the apply could
// find out has been.
func outlasting(planned, applied diag.List) diag.List {
	return slices.DeleteFunc(planned.Without(eval.CheckPending), func(d diag.Diagnostic) bool { return slices.ContainsFunc(applied, d.Same) })
}

// approve asks whether to go on.
func (e *env) approve(ctx context.Context, p *plan.Plan, workspace string) int {
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
		return 1
	case err != nil:
		return e.fail("Error asking for approval", "The answer can't be read: %s. Use -auto-approve to go on without asking.", err)
	case answer != "yes":
		e.say("\n%s cancelled.\n", what)
		return 1
	}
	e.say("\n")
	return 0
}

// carryOut applies a plan and saves the state, whatever happens. Found are the
// problems of planning that weren't told yet.
func (a *applying) carryOut(ctx context.Context, e *env, w *workload, p *plan.Plan, found diag.List) int {
	stop, end := e.interrupts.begin()
	defer end()
	saving := e.interrupts.saving
	limits, diags := e.limits()
	if diags.HasErrors() {
		return e.diags(append(found, diags...))
	}
	limits.Stop = stop
	r, diags := w.Record(saving, p, stop)
	if diags.HasErrors() {
		return e.diags(append(found, diags...))
	}
	if r != nil {
		limits.Journal = r
	}
	result, diags := engine.Apply(ctx, w.config, p, limits)
	diags.Append(w.Keep(saving, r, result))
	if code := e.diags(append(outlasting(found, diags), diags...)); code != 0 {
		return code
	}
	doubted := len(w.Doubted()) > 0
	e.applied(p, result, doubted, a.quiet)
	if doubted {
		return e.fail("Objects are in doubt", "What depends on objects of an earlier run that may exist wasn't done. To see them, and to settle each, or all of them at once with -forget-all:\n    %s recover", e.program)
	}
	// Terraform says so and succeeds.
	if p.Mode == plan.Destroy && p.Counts().Forget > 0 && !a.suppressForget && e.dialect == dialect.OpenTofu {
		return e.fail("Destroy was successful but left behind forgotten instances", "As requested, weir has not deleted some remote objects that are no longer managed by this configuration. Those objects continue to exist in their remote system. Use -suppress-forget-errors if that isn't a failure.")
	}
	return 0
}

// runSaved carries out a saved plan.
func (a *applying) runSaved(ctx context.Context, e *env, path string) int {
	content, diags := e.readPlan(path)
	if diags.HasErrors() {
		return e.diags(diags)
	}
	p := content.Plan
	switch {
	case a.planFlags():
		return e.fail("Can't change a saved plan", "The options -destroy, -refresh-only, -replace, -target and -exclude decide what is planned. A saved plan was made already; leave them out, or make a new plan.")
	case p.Errored:
		return e.fail("Cannot apply incomplete plan", "Planning failed with an error when this plan was made, so it can't be applied. Remove the cause and make the plan again.")
	}
	inputs, diags := e.savedInputs(p, a.vars)
	if diags.HasErrors() {
		return e.diags(diags)
	}
	diags.Append(sameLocks(content.Lock))
	if diags.HasErrors() {
		return e.diags(diags)
	}
	w := a.openSaved(ctx, e, content, inputs)
	if w == nil {
		return 1
	}
	defer w.Unlock()
	if e.stream != nil {
		e.stream.Changes(p)
	}
	return a.carryOut(ctx, e, w, p, nil)
}

// planFlags reports whether flags were given that only make sense for a plan.
// -refresh isn't among them: programs that drive the command line pass it always.
func (a *applying) planFlags() bool {
	o := &a.operation
	return o.destroy || o.refreshOnly || len(o.target)+len(o.targetFile)+len(o.exclude)+len(o.excludeFile)+len(o.replace) > 0
}

// savedInputs are the values that the plan was made with, and the ephemeral
// ones, which have to be given again.
func (e *env) savedInputs(p *plan.Plan, flags varFlags) (map[string]engine.VariableInput, diag.List) {
	given, diags := e.inputs(flags)
	explicit := map[string]bool{}
	for _, f := range flags {
		if name, _, ok := strings.Cut(f.value, "="); ok && !f.file {
			explicit[name] = true
		}
	}
	inputs := map[string]engine.VariableInput{}
	for name, v := range p.Variables {
		in, ok := given[name]
		switch {
		case v.Ephemeral && ok:
			inputs[name] = in
		case v.Ephemeral && v.Given:
			diags.Errorf("No value for required variable", "The variable %q is ephemeral, so its value isn't in the plan file. It has to be given again, for example with -var.", name)
		case v.Ephemeral:
		default:
			if explicit[name] && !sameInput(in, v.Value) {
				diags.Errorf("Mismatch between input and plan variable value", "The value of variable %q differs from the one that the saved plan was made with. Make a new plan with the new value.", name)
			}
			if v.Given {
				inputs[name] = engine.VariableInput{Value: v.Value, From: "plan"}
			}
		}
	}
	for name := range explicit {
		if p.Variables[name] == nil {
			diags.Errorf("Value for undeclared variable", "A variable named %q was assigned on the command line, but the saved plan has no such variable.", name)
		}
	}
	return inputs, diags
}

// sameInput reports whether a given value is the one that was planned with.
func sameInput(in engine.VariableInput, planned cty.Value) bool {
	given := in.Value
	if given == cty.NilVal {
		given = cty.StringVal(in.Text)
		if !planned.Type().IsPrimitiveType() {
			parsed, diags := module.ParseValue("", in.Text)
			if diags.HasErrors() {
				return false
			}
			given = parsed
		}
	}
	converted, err := convert.Convert(given, planned.Type())
	return err == nil && converted.RawEquals(planned)
}

// sameLocks reports whether the dependency locks are those of the plan.
func sameLocks(planned []byte) diag.List {
	then, diags := lockfile.Parse(planned, lockfile.Name)
	now, more := lockfile.Read(lockfile.Name)
	diags.Append(more)
	if diags.HasErrors() || then.Equal(now) {
		return diags
	}
	for _, lock := range then.All() {
		current, ok := now.Get(lock.Provider)
		if !ok || current.Version.String() != lock.Version.String() {
			diags.Errorf("Inconsistent dependency lock file", "The plan was made with provider %s %s, and the dependency lock file doesn't select that any more. A saved plan can be applied only with the providers it was made with. Make a new plan.", lock.Provider, lock.Version)
		}
	}
	return diags
}

// openSaved opens the configuration and the state that a plan was made for.
func (a *applying) openSaved(ctx context.Context, e *env, c planfile.Content, inputs map[string]engine.VariableInput) *workload {
	fail := func(l diag.List) *workload {
		e.diags(l)
		return nil
	}
	config, diags := e.loadSaved(ctx, c, inputs, loading{parallelism: a.parallelism, sink: e.progress.Event, workspace: c.Backend.Workspace, warm: true})
	if diags.HasErrors() {
		return fail(diags)
	}
	if more := e.encrypt(config.Tree.Program, inputs); more.HasErrors() {
		return fail(more)
	}
	b, more := e.opener().Recorded(c.Backend.Type, c.Backend.Config, config.Tree.Program)
	if more.HasErrors() {
		return fail(more)
	}
	s, more := e.openWorkspace(b, c.Backend.Workspace, a.state)
	if !more.HasErrors() {
		more.Append(e.lock(ctx, s, "apply", a.state))
	}
	if !more.HasErrors() {
		more.Append(e.read(ctx, s))
	}
	if !more.HasErrors() && stale(c.Backend, s) {
		more.Errorf("Saved plan is stale", "The given plan file can no longer be applied because the state was changed by another operation after the plan was created.")
	}
	diags.Append(more)
	if !diags.HasErrors() {
		diags.Append(e.provideFor(config, s.Prior()))
	}
	if e.diags(diags) != 0 {
		if s != nil {
			s.Unlock()
		}
		return nil
	}
	return &workload{config: config, Session: s, inputs: inputs}
}

// stale reports whether the state isn't the one that the plan was made for.
func stale(made planfile.Backend, s *session.Session) bool {
	base := s.Base()
	if base == nil {
		return made.Lineage != "" || made.Serial != 0
	}
	return base.Lineage != made.Lineage || base.Serial != made.Serial
}

// applied shows the totals, unless programs are to be told of outputs alone, and
// the outputs. What waits for objects in doubt isn't settled by another round.
func (e *env) applied(p *plan.Plan, result *state.Snapshot, doubted, quiet bool) {
	counts := e.counter.Counts()
	destroy := p.Mode == plan.Destroy
	outputs := result.Outputs
	if e.stream != nil {
		if !quiet {
			e.stream.Applied(counts, destroy)
		}
		if !destroy {
			e.written(e.stream.Outputs(outputs))
		}
	}
	if e.json {
		return
	}
	e.say("\n%s\n", e.pen().Paint(stream.AppliedText(counts, destroy), style.Bold, style.Green))
	if !doubted {
		e.written(view.NextRound(e.out, p, e.program, e.viewing()))
	}
	if !destroy {
		e.written(view.OutputsAfterApply(e.out, outputs, e.viewing()))
	}
}
