package weir

import (
	"context"
	"errors"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/workspace"
)

// ApplyOptions say how to apply a plan.
type ApplyOptions struct {
	// Approve decides whether a plan is applied; nil approves. Its ctx is that of the
	// operation, and the lock of the state is held meanwhile.
	Approve func(ctx context.Context, p *Plan) bool
	// Stop is closed to have nothing new started; nil never is.
	Stop <-chan struct{}
}

// A Result is what an apply has come to.
type Result struct {
	// Plan is the plan that was applied.
	Plan *Plan
	// State is the state afterwards.
	State *State
	// Warnings are those of opening, planning and applying.
	Warnings Diagnostics
}

// Apply carries out a plan. It is rejected with [ErrStalePlan] where the state was changed
// since. Anything that was done when an error comes is in the state.
func (w *Workspace) Apply(ctx context.Context, p *Plan, o ApplyOptions) (*Result, error) {
	d := w.begin()
	defer d.Close()
	opening := w.opening("apply")
	opening.Record = false
	return w.apply(ctx, workspace.Plan{Dir: d, Subject: d.Saved(p.content), Opening: opening}, o, p)
}

// PlanAndApply plans and applies under one lock, so that no plan gets stale between.
// It makes no difference where there is nothing to change.
func (w *Workspace) PlanAndApply(ctx context.Context, o PlanOptions, a ApplyOptions) (*Result, error) {
	p, diags := o.planning()
	if diags.HasErrors() {
		return nil, w.failure(ctx, diags)
	}
	d := w.begin()
	defer d.Close()
	if diags = d.Check(p, "apply"); diags.HasErrors() {
		return nil, w.failure(ctx, diags)
	}
	return w.apply(ctx, workspace.Plan{Dir: d, Opening: w.opening("apply"), Options: p}, a, nil)
}

func (w *Workspace) apply(ctx context.Context, p workspace.Plan, o ApplyOptions, made *Plan) (*Result, error) {
	a := &approver{workspace: w, options: o, plan: made}
	workspace.Apply{Plan: p}.Run(ctx, a)
	err := w.failure(ctx, a.found)
	if e := (*Error)(nil); errors.As(err, &e) && a.work != nil && len(a.work.Doubts()) > 0 && !errors.Is(err, ErrInDoubt) {
		e.kinds = append(e.kinds, ErrInDoubt)
	}
	switch {
	case a.refused:
		err = ErrNotApproved
	case a.err != nil:
		err = a.err
	case err == nil && a.outcome == nil:
		err = errors.New("nothing was applied") // there would be a diagnostic
	}
	if err != nil {
		return nil, err
	}
	return &Result{Plan: a.plan, State: stateOf(a.outcome.State), Warnings: w.warnings(a.found)}, nil
}

// An approver answers as the options say, and remembers what it is reported.
type approver struct {
	workspace *Workspace
	options   ApplyOptions
	plan      *Plan
	work      *workspace.Work
	refused   bool
	outcome   *workspace.Outcome
	found     diag.List
	err       error
}

// Opened implements workspace.Approver.
func (a *approver) Opened(l diag.List) { a.found.Append(l) }

// Planned implements workspace.Approver.
func (a *approver) Planned(ctx context.Context, w *workspace.Work, made *plan.Plan, found diag.List) (diag.List, bool) {
	a.work = w
	if made == nil || found.HasErrors() {
		a.found.Append(found)
		return nil, false
	}
	if a.plan == nil {
		if a.plan, a.err = a.workspace.plan(ctx, w, made, found); a.err != nil {
			return nil, false
		}
	}
	if a.options.Approve != nil && !a.options.Approve(ctx, a.plan) {
		a.refused = true
		return nil, false
	}
	return found, true
}

// Limits implements workspace.Approver.
func (a *approver) Limits() (workspace.Limits, func()) {
	return workspace.Limits{Stop: a.options.Stop}, func() {}
}

// Applied implements workspace.Approver.
func (a *approver) Applied(_ *plan.Plan, o *workspace.Outcome, found diag.List) {
	a.found.Append(found)
	if a.outcome = o; o != nil {
		a.found.Append(o.Left)
	}
}

// Problem implements workspace.Approver.
func (a *approver) Problem(l diag.List) { a.found.Append(l) }

// Again implements workspace.Approver.
func (a *approver) Again(int) {}

// An EventKind is what has happened.
type EventKind string

// The kinds of events.
const (
	RefreshStarted    EventKind = "refresh_started"
	RefreshDone       EventKind = "refresh_done"
	ReadStarted       EventKind = "read_started" // of a data source
	ReadDone          EventKind = "read_done"
	ApplyStarted      EventKind = "apply_started"
	ApplyDone         EventKind = "apply_done"
	ApplyFailed       EventKind = "apply_failed"
	ProvisionStarted  EventKind = "provision_started"
	ProvisionOutput   EventKind = "provision_output"
	ProvisionDone     EventKind = "provision_done"
	ProvisionFailed   EventKind = "provision_failed"
	EphemeralStarted  EventKind = "ephemeral_started"
	EphemeralDone     EventKind = "ephemeral_done"
	Stopping          EventKind = "stopping"
	ImportPlanned     EventKind = "import_planned"
	ImportStarted     EventKind = "import_started"
	ImportDone        EventKind = "import_done"
	ForgottenInstance EventKind = "forgotten"
)

var eventKinds = map[event.Kind]EventKind{
	event.RefreshStart: RefreshStarted, event.RefreshComplete: RefreshDone,
	event.ReadStart: ReadStarted, event.ReadComplete: ReadDone,
	event.ApplyStart: ApplyStarted, event.ApplyComplete: ApplyDone, event.ApplyErrored: ApplyFailed,
	event.ProvisionStart: ProvisionStarted, event.ProvisionOutput: ProvisionOutput,
	event.ProvisionComplete: ProvisionDone, event.ProvisionErrored: ProvisionFailed,
	event.EphemeralStart: EphemeralStarted, event.EphemeralComplete: EphemeralDone,
	event.Stopping: Stopping, event.ImportPrepare: ImportPlanned, event.ImportStart: ImportStarted,
	event.ImportComplete: ImportDone, event.Forgotten: ForgottenInstance,
}

// An Event is one step of work on an object.
type Event struct {
	Kind EventKind
	// Address is whose it is; empty for Stopping.
	Address string
	// Action is what is done to the object, where Kind reports that.
	Action Action
	// ID is what the provider knows the object by, where that is known.
	ID string
	// Text is a line of a provisioner's output, or what is done to an ephemeral
	// resource.
	Text string
}

func sink(tell func(Event)) event.Sink {
	if tell == nil {
		return nil
	}
	return func(e event.Event) {
		kind, known := eventKinds[e.Kind]
		if !known {
			return
		}
		out := Event{Kind: kind, ID: e.IDValue, Text: e.Text}
		if e.Kind != event.Stopping {
			out.Address, out.Action = e.Addr.String(), Action(e.Action.String())
		}
		tell(out)
	}
}
