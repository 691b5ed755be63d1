// Package flow runs rounds as Temporal workflows: one for each deployment, which runs one
// request after the other, and one for each stack, which starts its deployments and then the
// stacks that read it.
//
// It owns the names of workflows and signals, and how often steps are tried. It doesn't know
// what rounds consist of, and how steps are made.
package flow

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"weir.dev/weir/temporal/rounds"
)

// Queue is the task queue of all workers.
const Queue = "weir"

// Signals and queries.
const (
	requestSignal  = "request"
	decisionSignal = "decision"
	overSignal     = "over"
	statusQuery    = "status"
	statusMemo     = "status"
)

// StackID is the workflow of a stack, DeploymentID that of a deployment.
func StackID(stack string) string { return "weir/" + stack }

// DeploymentID is the workflow of a deployment.
func DeploymentID(stack, deployment string) string { return "weir/" + stack + "/" + deployment }

// options are those of all steps. A step that couldn't be made, because the worker or
// the store is gone, is tried again without end, by whichever worker there is.
func options(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           Queue,
		StartToCloseTimeout: 7 * 24 * time.Hour,
		HeartbeatTimeout:    beat * 5,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
}

// beat is how often a step says that it still lives.
const beat = 3 * time.Second

// Carried is what the workflow of a deployment knows of what it did before.
type Carried struct{ Last rounds.Status }

// Deployment is the workflow of a deployment.
func Deployment(ctx workflow.Context, carried Carried) error {
	h := &host{ctx: options(ctx), decisions: workflow.GetSignalChannel(ctx, decisionSignal), last: carried.Last}
	if err := workflow.SetQueryHandler(ctx, statusQuery, func() (rounds.Status, error) { return h.last, nil }); err != nil {
		return err
	}
	requests := workflow.GetSignalChannel(ctx, requestSignal)
	for {
		var r rounds.Request
		requests.Receive(ctx, &r)
		h.begin()
		status := h.last
		if r.ID != status.Request || !status.Phase.Over() { // else it was sent twice
			status = rounds.Deploy(h, r)
		}
		if r.Parent != "" {
			// A parent that is gone needn't know.
			_ = workflow.SignalExternalWorkflow(ctx, r.Parent, "", overSignal, status).Get(ctx, nil)
		}
		if requests.Len() > 0 {
			continue
		}
		if r.Destroy && status.Phase == rounds.Done {
			return nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, Deployment, Carried{status})
		}
	}
}

// A host carries out the steps of a deployment as activities.
type host struct {
	ctx       workflow.Context
	decisions workflow.ReceiveChannel
	last      rounds.Status
	cancelled bool
}

// begin forgets what was said of what came before.
func (h *host) begin() {
	h.cancelled = false
	for d := (rounds.Decision{}); h.decisions.ReceiveAsync(&d); {
	}
}

// step runs an activity, and cancels it when somebody says so.
func (h *host) step(result any, name string, args ...any) error {
	ctx, cancel := workflow.WithCancel(h.ctx)
	defer cancel()
	f := workflow.ExecuteActivity(ctx, name, args...)
	for !f.IsReady() {
		s := workflow.NewSelector(ctx)
		s.AddFuture(f, func(workflow.Future) {})
		s.AddReceive(h.decisions, func(c workflow.ReceiveChannel, _ bool) {
			var d rounds.Decision
			c.Receive(h.ctx, &d)
			if d.Kind == rounds.Cancel {
				h.cancelled = true
				cancel()
			}
		})
		s.Select(h.ctx)
	}
	return told(f.Get(h.ctx, result))
}

// told is the error of an activity as people read it.
func told(err error) error {
	var said *temporal.ApplicationError
	if errors.As(err, &said) {
		return errors.New(said.Error())
	}
	return err
}

func (h *host) Plan(r rounds.Request) (p rounds.Planned, err error) {
	err = h.step(&p, "Plan", r)
	return p, err
}

func (h *host) Apply(r rounds.Request, planned rounds.Planned) (a rounds.Applied, err error) {
	err = h.step(&a, "Apply", r, planned)
	return a, err
}

func (h *host) Settle(r rounds.Request, s rounds.Settlement) (problem string, err error) {
	err = h.step(&problem, "Settle", r, s)
	return problem, err
}

func (h *host) Decision() (d rounds.Decision, err error) {
	h.decisions.Receive(h.ctx, &d)
	return d, nil
}

func (h *host) Cancelled() bool { return h.cancelled }

func (h *host) Tell(s rounds.Status) {
	h.last = s
	remember(h.ctx, Brief(s))
}

// Brief is what lists show of a status.
func Brief(s rounds.Status) rounds.Status {
	s.Lines, s.Plan.Against = nil, nil
	const most = 1500
	s.Problem, s.Plan.Problem = cut(s.Problem, most), cut(s.Plan.Problem, most)
	if len(s.Plan.Doubts) > 20 {
		s.Plan.Doubts = s.Plan.Doubts[:20]
	}
	return s
}

func cut(text string, most int) string {
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// remember has lists show something of a workflow.
func remember(ctx workflow.Context, what any) {
	if err := workflow.UpsertMemo(ctx, map[string]any{statusMemo: what}); err != nil {
		workflow.GetLogger(ctx).Warn("the status can't be kept", "error", err)
	}
}

// Stack is the workflow of a stack.
func Stack(ctx workflow.Context) error {
	c := &conductor{ctx: options(ctx), over: workflow.GetSignalChannel(ctx, overSignal)}
	if err := workflow.SetQueryHandler(ctx, statusQuery, func() (rounds.Overview, error) { return c.last, nil }); err != nil {
		return err
	}
	requests := workflow.GetSignalChannel(ctx, requestSignal)
	for {
		var w rounds.Whole
		requests.Receive(ctx, &w)
		rounds.Conduct(c, w)
		if requests.Len() > 0 {
			continue
		}
		if info := workflow.GetInfo(ctx); info.GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, Stack)
		}
	}
}

// A conductor carries out what is around the deployments of a stack.
type conductor struct {
	ctx  workflow.Context
	over workflow.ReceiveChannel
	last rounds.Overview
}

func (c *conductor) Begin(list []rounds.Request) error {
	for i := range list {
		list[i].Parent = workflow.GetInfo(c.ctx).WorkflowExecution.ID
	}
	return told(workflow.ExecuteActivity(c.ctx, "Begin", list).Get(c.ctx, nil))
}

func (c *conductor) Next() (s rounds.Status, err error) {
	c.over.Receive(c.ctx, &s)
	return s, nil
}

func (c *conductor) Publish(w rounds.Whole) (p rounds.Published, err error) {
	err = told(workflow.ExecuteActivity(c.ctx, "Publish", w).Get(c.ctx, &p))
	return p, err
}

func (c *conductor) Follow(stack string, via []string) (problem string, err error) {
	err = told(workflow.ExecuteActivity(c.ctx, "Follow", stack, via).Get(c.ctx, &problem))
	return problem, err
}

func (c *conductor) Tell(o rounds.Overview) {
	c.last = o
	if o.Ended || len(o.Over) == 0 {
		remember(c.ctx, o)
	}
}
