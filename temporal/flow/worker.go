package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"weir.dev/weir/temporal/rounds"
)

// activities are the steps as Temporal calls them.
type activities struct {
	steps  rounds.Steps
	client client.Client
}

// NewWorker is a worker that makes steps, so many of them at the same time.
func NewWorker(c client.Client, steps rounds.Steps, most int) worker.Worker {
	w := worker.New(c, Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: most,
		WorkerStopTimeout:                  time.Minute,
	})
	Register(w, steps, c)
	return w
}

// A Registry is what workflows and activities are registered with.
type Registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivity(a any)
}

// Register registers the workflows and the steps.
func Register(r Registry, steps rounds.Steps, c client.Client) {
	r.RegisterWorkflowWithOptions(Deployment, workflow.RegisterOptions{Name: "Deployment"})
	r.RegisterWorkflowWithOptions(Stack, workflow.RegisterOptions{Name: "Stack"})
	r.RegisterActivity(&activities{steps, c})
}

// errStopping is why a step is left to another worker.
var errStopping = errors.New("the worker was stopped")

// living runs a step that says all the time that it lives. Its context ends when nothing new
// is to be started: when somebody has cancelled it, or when the worker stops. In the second
// case the step is to be tried by another one.
func living[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-activity.GetWorkerStopChannel(ctx):
				stop(errStopping)
				<-done
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	activity.RecordHeartbeat(ctx)
	v, err := do(inner)
	if errors.Is(context.Cause(inner), errStopping) {
		return v, errStopping
	}
	return v, err
}

// again reports whether a step was tried before.
func again(ctx context.Context) bool { return activity.GetInfo(ctx).Attempt > 1 }

func (a *activities) Plan(ctx context.Context, r rounds.Request) (rounds.Planned, error) {
	return living(ctx, func(ctx context.Context) (rounds.Planned, error) { return a.steps.Plan(ctx, r) })
}

func (a *activities) Apply(ctx context.Context, r rounds.Request, planned rounds.Planned) (rounds.Applied, error) {
	tried := again(ctx)
	return living(ctx, func(ctx context.Context) (rounds.Applied, error) { return a.steps.Apply(ctx, r, planned, tried) })
}

func (a *activities) Settle(ctx context.Context, r rounds.Request, said rounds.Decision) (string, error) {
	return living(ctx, func(ctx context.Context) (string, error) { return a.steps.Settle(ctx, r, said) })
}

// Check is a local activity, which has no heartbeat.
func (a *activities) Check(ctx context.Context, r rounds.Request, d rounds.Decision) (string, error) {
	return a.steps.Check(ctx, r, d)
}

func (a *activities) Publish(ctx context.Context, w rounds.Whole) (rounds.Published, error) {
	return living(ctx, func(ctx context.Context) (rounds.Published, error) { return a.steps.Publish(ctx, w) })
}

// Begin has the workflows of deployments begin with something, each once.
func (a *activities) Begin(ctx context.Context, list []rounds.Request) error {
	_, err := living(ctx, func(ctx context.Context) (bool, error) {
		for _, r := range list {
			id := DeploymentID(r.Stack, r.Deployment)
			if _, err := a.client.SignalWithStartWorkflow(ctx, id, requestSignal, r, client.StartWorkflowOptions{ID: id, TaskQueue: Queue}, Deployment, Carried{}); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return err
}

// Follow has a stack done that reads what was published. A stack that was never asked
// for here can't be.
func (a *activities) Follow(ctx context.Context, stack string, via []string) (string, error) {
	return living(ctx, func(ctx context.Context) (string, error) {
		info := activity.GetInfo(ctx)
		w, err := a.steps.Last(ctx, stack, fmt.Sprintf("%s after %s", info.WorkflowExecution.RunID, info.ActivityID), via)
		if err != nil {
			return "", err
		}
		return "", Ask(ctx, a.client, w)
	})
}

// Ask has a stack done.
func Ask(ctx context.Context, c client.Client, w rounds.Whole) error {
	id := StackID(w.Stack)
	_, err := c.SignalWithStartWorkflow(ctx, id, requestSignal, w, client.StartWorkflowOptions{ID: id, TaskQueue: Queue}, Stack, Waiting{})
	return err
}
