package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir.dev/weir"
)

// A Status is how far a run is.
type Status string

// The statuses. The last three are final.
const (
	Queued   Status = "queued"
	Planning Status = "planning"
	Waiting  Status = "waiting for approval"
	Applying Status = "applying"
	Applied  Status = "applied"
	Rejected Status = "rejected"
	Failed   Status = "failed"
)

// A Run brings one workspace to what the configuration says.
type Run struct {
	ID        int            `json:"id"`
	Workspace string         `json:"workspace"`
	Variables map[string]any `json:"variables,omitempty"`
	Destroy   bool           `json:"destroy,omitempty"`
	Status    Status         `json:"status"`
	// Changes are the plan's, as "ACTION ADDRESS", from Waiting on.
	Changes []string `json:"changes,omitempty"`
	// DecidedBy is who has approved or rejected it.
	DecidedBy string               `json:"decided_by,omitempty"`
	Error     string               `json:"error,omitempty"`
	Outputs   map[string]any       `json:"outputs,omitempty"`
	Events    []string             `json:"events,omitempty"`
	Times     map[Status]time.Time `json:"times"`

	decision chan decision
}

type decision struct {
	by      string
	approve bool
}

// A Platform plans and applies runs: those of one workspace one after the other, in the order in
// which they came, and workspaces at the same time.
type Platform struct {
	// Open opens the workspace of a run.
	Open func(Run, weir.Options) (*weir.Workspace, error)
	// Automatic reports whether a plan is applied without an approval; nil is for plans without
	// changes only.
	Automatic func(*weir.Plan) bool

	mu     sync.Mutex
	runs   []*Run
	queues map[string]chan *Run
	done   sync.WaitGroup
	stop   chan struct{}
	ctx    context.Context
}

// Start makes the platform ready. Its runs end when ctx does.
func (p *Platform) Start(ctx context.Context) {
	p.ctx, p.stop, p.queues = ctx, make(chan struct{}), map[string]chan *Run{}
}

// Close rejects what is queued or waits, lets applies end what is under way, and waits for that.
func (p *Platform) Close() {
	close(p.stop)
	p.done.Wait()
}

// ErrBusy: the workspace has too many runs.
var ErrBusy = errors.New("too many runs are queued for the workspace")

// Add queues a run.
func (p *Platform) Add(workspace string, variables map[string]any, destroy bool) (Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.queues[workspace]
	if queue == nil {
		queue = make(chan *Run, 100)
		p.queues[workspace] = queue
		p.done.Go(func() { p.work(queue) })
	}
	r := &Run{
		ID: len(p.runs) + 1, Workspace: workspace, Variables: variables, Destroy: destroy, Status: Queued,
		Times: map[Status]time.Time{Queued: time.Now()}, decision: make(chan decision, 1),
	}
	select {
	case queue <- r:
	default:
		return Run{}, ErrBusy
	}
	p.runs = append(p.runs, r)
	return r.copy(), nil
}

// copy is the run as it is now, for readers without the lock.
func (r *Run) copy() Run {
	c := *r
	c.Events = append([]string(nil), r.Events...)
	c.Times = map[Status]time.Time{}
	for s, t := range r.Times {
		c.Times[s] = t
	}
	return c
}

// Runs are all runs, in the order in which they came.
func (p *Platform) Runs() []Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []Run{}
	for _, r := range p.runs {
		out = append(out, r.copy())
	}
	return out
}

// Decide approves or rejects a run that waits.
func (p *Platform) Decide(id int, by string, approve bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id < 1 || id > len(p.runs) {
		return fmt.Errorf("there is no run %d", id)
	}
	r := p.runs[id-1]
	if r.Status != Waiting || r.DecidedBy != "" {
		return fmt.Errorf("run %d doesn't wait for an approval; it is %s", id, r.Status)
	}
	r.DecidedBy = by
	r.decision <- decision{by, approve}
	return nil
}

// set changes a run.
func (p *Platform) set(r *Run, s Status, change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Status, r.Times[s] = s, time.Now()
	if change != nil {
		change()
	}
}

// work does the runs of one workspace.
func (p *Platform) work(queue chan *Run) {
	for {
		select {
		case <-p.stop:
			return
		case r := <-queue:
			if err := p.run(r); err != nil {
				status := Failed
				if errors.Is(err, weir.ErrNotApproved) {
					status = Rejected
				}
				p.set(r, status, func() { r.Error = err.Error() })
			}
		}
	}
}

func (p *Platform) run(r *Run) error {
	p.set(r, Planning, nil)
	ws, err := p.Open(*r, weir.Options{
		Workspace: r.Workspace, Variables: r.Variables, Who: "platform", LockTimeout: time.Minute,
		Events: func(e weir.Event) {
			p.mu.Lock()
			defer p.mu.Unlock()
			r.Events = append(r.Events, fmt.Sprintf("%s %s", e.Kind, e.Address))
		},
	})
	if err != nil {
		return err
	}
	defer ws.Close()
	if err := ws.Init(p.ctx, weir.InitOptions{}); err != nil {
		return err
	}
	result, err := ws.PlanAndApply(p.ctx, weir.PlanOptions{Destroy: r.Destroy}, weir.ApplyOptions{
		Approve: func(ctx context.Context, made *weir.Plan) bool { return p.approved(ctx, r, made) },
		Stop:    p.stop,
	})
	if err != nil {
		return err
	}
	outputs := map[string]any{}
	for name, o := range result.State.Outputs {
		if o.Sensitive {
			outputs[name] = "(sensitive)"
		} else {
			outputs[name] = o.Value
		}
	}
	p.set(r, Applied, func() { r.Outputs = outputs })
	return nil
}

// approved waits for a decision about a plan. The lock of the state is held meanwhile, so the plan
// can't become stale.
func (p *Platform) approved(ctx context.Context, r *Run, made *weir.Plan) bool {
	automatic := !made.HasChanges() || p.Automatic != nil && p.Automatic(made)
	if !automatic {
		p.set(r, Waiting, func() {
			for _, c := range made.Changes() {
				r.Changes = append(r.Changes, string(c.Action)+" "+c.Address)
			}
		})
		select {
		case d := <-r.decision:
			if !d.approve {
				return false
			}
		case <-p.stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
	p.set(r, Applying, nil)
	return true
}
