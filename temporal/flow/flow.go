// Package flow runs rounds as Temporal workflows: one for each deployment, which runs one
// request after the other, and one for each stack, which starts its deployments and then the
// stacks that read it.
//
// It owns the names of workflows and signals, and how often steps are tried. It doesn't know
// what rounds consist of, and how steps are made.
package flow

import (
	"errors"
	"slices"
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
type Carried struct {
	Last rounds.Status
	// Pending are requests that came before the history became too long.
	Pending []rounds.Request `json:",omitempty"`
}

// Deployment is the workflow of a deployment.
func Deployment(ctx workflow.Context, carried Carried) error {
	h := &host{ctx: options(ctx), decisions: workflow.GetSignalChannel(ctx, decisionSignal), last: carried.Last}
	if err := workflow.SetQueryHandler(ctx, statusQuery, func() (rounds.Status, error) { return h.last, nil }); err != nil {
		return err
	}
	q := queue[rounds.Request]{workflow.GetSignalChannel(ctx, requestSignal), carried.Pending}
	for {
		r := q.next(ctx)
		h.begin(r)
		status := h.last
		if r.ID != status.Request || !status.Phase.Over() { // else it was sent twice
			status = rounds.Deploy(h, r)
		}
		if r.Parent != "" {
			// A parent that is gone needn't know.
			_ = workflow.SignalExternalWorkflow(ctx, r.Parent, "", overSignal, Brief(status)).Get(ctx, nil)
		}
		switch {
		case r.Destroy && status.Phase == rounds.Done && !q.waits():
			return nil
		case tooLong(ctx) && (h.version >= rounds.Signed || !q.waits()):
			return workflow.NewContinueAsNewError(ctx, Deployment, Carried{status, q.rest()})
		}
	}
}

// tooLong reports whether a workflow is to go on with a history of its own, which the
// server suggests long before it rejects more events.
func tooLong(ctx workflow.Context) bool { return workflow.GetInfo(ctx).GetContinueAsNewSuggested() }

// A queue has the requests that wait for a workflow: first those that the run before it
// left, then the signals.
type queue[T any] struct {
	signals workflow.ReceiveChannel
	left    []T
}

func (q *queue[T]) waits() bool { return len(q.left) > 0 || q.signals.Len() > 0 }

// next waits for the next one.
func (q *queue[T]) next(ctx workflow.Context) (v T) {
	if len(q.left) > 0 {
		v, q.left = q.left[0], q.left[1:]
		return v
	}
	q.signals.Receive(ctx, &v)
	return v
}

// rest is all that waits. A new run gets no signals that this one had.
func (q *queue[T]) rest() []T {
	for {
		var v T
		if !q.signals.ReceiveAsync(&v) {
			return q.left
		}
		q.left = append(q.left, v)
	}
}

// A host carries out the steps of a deployment as activities.
type host struct {
	ctx       workflow.Context
	decisions workflow.ReceiveChannel
	last      rounds.Status
	request   rounds.Request
	cancelled bool
	version   int
}

// begin forgets what was said of what came before.
func (h *host) begin(r rounds.Request) {
	h.request, h.cancelled = r, false
	h.version = version(h.ctx)
	for d := (rounds.Decision{}); h.decisions.ReceiveAsync(&d); {
	}
}

// version is the version of the rounds that a workflow began with.
func version(ctx workflow.Context) int {
	return int(max(0, workflow.GetVersion(ctx, "rounds", workflow.DefaultVersion, rounds.Version)))
}

// step runs an activity, and cancels it when somebody says so.
func (h *host) step(result any, name string, args ...any) error {
	ctx, cancel := workflow.WithCancel(h.ctx)
	defer cancel()
	f := workflow.ExecuteActivity(ctx, name, args...)
	for !f.IsReady() {
		var said *rounds.Decision
		s := workflow.NewSelector(ctx)
		s.AddFuture(f, func(workflow.Future) {})
		s.AddReceive(h.decisions, func(c workflow.ReceiveChannel, _ bool) {
			said = new(rounds.Decision)
			c.Receive(h.ctx, said)
		})
		s.Select(h.ctx)
		if said != nil && said.Kind == rounds.Cancel && !h.cancelled && h.counts(*said) {
			h.cancelled = true
			cancel()
		}
	}
	return told(f.Get(h.ctx, result))
}

// counts reports whether a decision is to be followed while a step is under way.
func (h *host) counts(d rounds.Decision) bool {
	if h.version < rounds.Signed {
		return true
	}
	problem, err := h.Check(h.request, d)
	return problem == "" && err == nil
}

// Check is made by the worker that has the workflow, beside the steps: it mustn't wait for one
// of these to end.
func (h *host) Check(r rounds.Request, d rounds.Decision) (problem string, err error) {
	ctx := workflow.WithLocalActivityOptions(h.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: time.Minute,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
	if err := workflow.ExecuteLocalActivity(ctx, "Check", r, d).Get(ctx, &problem); err != nil {
		problem = "it couldn't be checked: " + told(err).Error()
	}
	return problem, nil
}

func (h *host) Version() int { return h.version }

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

func (h *host) Settle(r rounds.Request, said rounds.Decision) (problem string, err error) {
	err = h.step(&problem, "Settle", r, said)
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

// Waiting has what a stack was asked for before its history became too long.
type Waiting struct {
	Pending []rounds.Whole `json:",omitempty"`
}

// Stack is the workflow of a stack.
func Stack(ctx workflow.Context, carried Waiting) error {
	c := &conductor{ctx: options(ctx), over: workflow.GetSignalChannel(ctx, overSignal)}
	if err := workflow.SetQueryHandler(ctx, statusQuery, func() (rounds.Overview, error) { return c.last, nil }); err != nil {
		return err
	}
	q := queue[rounds.Whole]{workflow.GetSignalChannel(ctx, requestSignal), carried.Pending}
	for {
		w := q.next(ctx)
		c.version = version(ctx)
		rounds.Conduct(c, w)
		if tooLong(ctx) && (c.version >= rounds.Signed || !q.waits()) {
			return workflow.NewContinueAsNewError(ctx, Stack, Waiting{q.rest()})
		}
	}
}

// A conductor carries out what is around the deployments of a stack.
type conductor struct {
	ctx     workflow.Context
	over    workflow.ReceiveChannel
	last    rounds.Overview
	version int
}

// atOnce is how many deployments one activity begins: what an activity is given has a limit
// of 2 MiB.
const atOnce = 500

func (c *conductor) Begin(list []rounds.Request) error {
	for i := range list {
		list[i].Parent = workflow.GetInfo(c.ctx).WorkflowExecution.ID
	}
	each := atOnce
	if c.version < rounds.Signed {
		each = max(1, len(list))
	}
	for some := range slices.Chunk(list, each) {
		if err := workflow.ExecuteActivity(c.ctx, "Begin", some).Get(c.ctx, nil); err != nil {
			return told(err)
		}
	}
	return nil
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
