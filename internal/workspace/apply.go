package workspace

import (
	"cmp"
	"context"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/incremental/planinputs"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/plan/rebase"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/lockedstate"
)

// Limits say when an apply has to end early.
type Limits struct {
	// Stop is closed when no new step is to be started; nil never is.
	Stop <-chan struct{}
	// Saving is for how long results are saved, whatever became of the rest; nil
	// stands for without end.
	Saving context.Context
	// AllowForget: that a destruction leaves forgotten objects is no failure.
	AllowForget bool
	// ShowSensitive: what provisioners print is shown although it may be sensitive.
	ShowSensitive bool
}

// An Outcome is what came of an apply.
type Outcome struct {
	State *state.Snapshot
	// Doubted: something waits for objects of an earlier run that may exist.
	Doubted bool
	// Left are failures beside what was done, to be reported after it.
	Left diag.List
}

// Apply carries out a plan and saves the state, whatever happens. Found are the problems of
// planning that weren't reported yet. The outcome is nil beside errors.
func (w *Work) Apply(ctx context.Context, p *plan.Plan, found diag.List, l Limits) (*Outcome, diag.List) {
	saving := trace.Join(cmp.Or(l.Saving, context.WithoutCancel(ctx)), ctx)
	timeout, grace, diags := w.dir.Place.CallLimits()
	if diags.HasErrors() {
		return nil, append(found, diags...)
	}
	o := engine.ApplyOptions{CallTimeout: timeout, Grace: grace, Stop: l.Stop, ShowSensitive: l.ShowSensitive}
	recorder, more := w.State.Record(saving, p, l.Stop)
	if found = append(found, more...); more.HasErrors() {
		return nil, found
	}
	if recorder != nil {
		o.Journal = recorder
	}
	if w.subject.Apply != nil {
		w.subject.Apply(p, &o)
	}
	planinputs.ForgetLooks(p, w.State.Session)
	result, diags := engine.Apply(ctx, w.Config, p, o)
	diags.Append(w.State.Keep(saving, recorder, result))
	if w.State.Forgets() && len(w.Doubts()) > 0 {
		diags.Append(lockedstate.NotNoted.As("Objects in doubt are recorded in memory only").Warnings("Only this process knows of the objects in doubt. Once it has ended, weir would create them again. To record them, set a data directory, or use a store that takes notes."))
	}
	diags = append(outlasting(found, diags), diags...)
	if diags.HasErrors() {
		return nil, diags
	}
	out := &Outcome{State: result, Doubted: len(w.Doubts()) > 0}
	switch {
	case out.Doubted:
		out.Left.Add(diag.InDoubt.New(diag.Error, "Dependents of objects in doubt were skipped. To list the objects and resolve each, or all at once with -forget-all:\n    %s", diag.Command{Program: w.dir.Place.Program, Name: "recover"}))
	// Terraform says so and succeeds.
	case p.Mode == plan.Destroy && p.Counts().Forget > 0 && !l.AllowForget && w.dir.Place.Dialect == dialect.OpenTofu:
		out.Left.Add(planner.Forgotten.As("Destroy was successful but left behind forgotten instances").New(diag.Error, "As requested, weir has not deleted some remote objects that are no longer managed by this configuration. Those objects continue to exist in their remote system. Use -suppress-forget-errors if that isn't a failure."))
	}
	return out, diags
}

// outlasting are the problems of planning that are still to be reported beside those of
// applying: what both found is one problem, and what only the apply could find out has been.
func outlasting(planned, applied diag.List) diag.List {
	return slices.DeleteFunc(planned.Without(checks.Pending), func(d diag.Diagnostic) bool { return slices.ContainsFunc(applied, d.Same) })
}

// An Approver follows an apply, and decides about it.
type Approver interface {
	// Opened is given the warnings of opening.
	Opened(diag.List)
	// Planned is given a plan, nil if none could be made, and what was found beside it. It
	// returns what is still to be reported, and whether to go on.
	Planned(ctx context.Context, w *Work, p *plan.Plan, found diag.List) (left diag.List, approved bool)
	// Limits are those of an apply that begins now; ended is called after it.
	Limits() (l Limits, ended func())
	// Applied is given what came of it, nil if it failed.
	Applied(p *plan.Plan, o *Outcome, found diag.List)
	// Problem is given why it ends, or doesn't begin.
	Problem(diag.List)
	// Again reports that a round is done, and another one begins.
	Again(round int)
}

// Apply plans, and carries out what is approved.
type Apply struct {
	Plan Plan
	// Rounds is how often it plans and applies at most, as long as something was deferred.
	// One round at least.
	Rounds int
}

// Run plans and applies as the approver decides. It reports whether everything was done.
func (a Apply) Run(ctx context.Context, by Approver) bool {
	a.Plan.Opened = by.Opened
	for round := 1; ; round++ {
		made, done := a.once(ctx, by, a.Plan.Subject.Parts || limited(a.Plan.Options.Targets, a.Plan.Options.Excludes))
		switch {
		case !done:
			return false
		case a.Rounds <= 1 || len(made.Deferred) == 0 || ctx.Err() != nil:
			return true
		case !made.HasChanges() && !awaits(made):
			by.Problem(planner.UnknownForEach.As("Nothing left that would make more known").List("Some objects are deferred because their number isn't known yet, and nothing else in this plan would change that. Check the for_each arguments of the components above."))
			return false
		case round == a.Rounds:
			by.Problem(planner.UnknownForEach.As("Too many rounds").List("After %d rounds some objects are still deferred. Run apply again to continue.", a.Rounds))
			return false
		}
		a.Plan.Options.Replace = made.Untouched(a.Plan.Options.Replace)
		by.Again(round)
	}
}

// awaits reports whether an apply of a plan reads what something else was about to change, such as the state of another
// root. The next plan knows more then.
func awaits(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c *plan.Change) bool {
		return c.Action == plan.Read && c.Reason == plan.ReadDependencyPending
	})
}

// lockParts locks the parts of the state that a plan needs, if the work has no lock yet, and
// returns the plan for what is stored now. It is nil beside errors.
func (w *Work) lockParts(ctx context.Context, made *plan.Plan) (*plan.Plan, diag.List) {
	if !w.State.Unlocked() {
		return made, nil
	}
	write, read := rebase.Parts(made)
	diags := w.State.LockParts(ctx, write, read)
	if diags.HasErrors() {
		return nil, diags
	}
	fits, more := onto(made, w.State.Session)
	return fits, append(diags, more...)
}

// once plans and applies. With parts it locks only what the plan needs, once that is approved.
func (a Apply) once(ctx context.Context, by Approver, parts bool) (made *plan.Plan, done bool) {
	a.Plan.Opening.State.Locking.Parts = parts
	w, made, found := a.Plan.Run(ctx)
	if w == nil {
		by.Problem(found)
		return nil, false
	}
	defer w.Unlock()
	found, approved := by.Planned(ctx, w, made, found)
	if made == nil || !approved {
		return made, false
	}
	fits, problems := w.lockParts(ctx, made)
	switch {
	case fits != nil:
	case slices.ContainsFunc(problems, Stale.Is) && !a.Plan.Subject.Parts:
		w.Unlock()
		by.Opened(Stale.As("Planning again").Warnings("The state was changed after the plan was made, in parts that the plan has read. weir plans again with the lock of the state."))
		return a.once(ctx, by, false)
	default:
		by.Problem(append(found, problems...))
		return made, false
	}
	made, found = fits, append(found, problems...)
	limits, ended := by.Limits()
	defer ended()
	outcome, diags := w.Apply(ctx, made, found, limits)
	by.Applied(made, outcome, diags)
	return made, outcome != nil && len(outcome.Left) == 0
}
