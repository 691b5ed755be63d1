package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"weir.dev/weir/temporal/flow"
	"weir.dev/weir/temporal/rounds"
)

// requests are done by TestHistory, each with two rounds.
const requests = 500

// steps stand in for a deployment of 5,000 objects that has as much to say as it may.
type steps struct {
	mu   sync.Mutex
	done []string
}

func (s *steps) Plan(context.Context, rounds.Request) (rounds.Planned, error) {
	var why []string
	for i := range 20 {
		why = append(why, fmt.Sprintf("the rule %d: %s", i, strings.Repeat("x", 100)))
	}
	return rounds.Planned{Plan: strings.Repeat("a", 64), Text: strings.Repeat("b", 64), Counts: rounds.Counts{Add: 5000}, Against: why}, nil
}

func (s *steps) Apply(_ context.Context, r rounds.Request, p rounds.Planned, _ bool) (rounds.Applied, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, r.ID)
	a := rounds.Applied{Counts: p.Counts}
	if len(s.done)%2 == 1 {
		a.Deferred = 1
	}
	return a, nil
}

func (s *steps) Settle(context.Context, rounds.Request, rounds.Decision) (string, error) {
	return "", nil
}
func (s *steps) Check(context.Context, rounds.Request, rounds.Decision) (string, error) {
	return "", nil
}
func (s *steps) Publish(context.Context, rounds.Whole) (rounds.Published, error) {
	return rounds.Published{}, nil
}
func (s *steps) Last(context.Context, string, string, []string) (rounds.Whole, error) {
	return rounds.Whole{}, nil
}

// TestHistory: a deployment of 5,000 objects goes through 1,000 rounds that are asked for at once.
// No history gets near the limits of the server, and each request is done once, in order.
func TestHistory(t *testing.T) {
	port := start(t, "token")
	c, err := dial(t, port, "token")
	if err != nil {
		t.Fatal(err)
	}
	s := &steps{}
	w := flow.NewWorker(c, s, 4)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	id := flow.DeploymentID("net", "one")
	var want []string
	for i := range requests {
		r := rounds.Request{ID: fmt.Sprint("request ", i), Stack: "net", Deployment: "one", Options: rounds.Options{AutoApprove: true}}
		if _, err := c.SignalWithStartWorkflow(t.Context(), id, "request", r, client.StartWorkflowOptions{ID: id, TaskQueue: flow.Queue}, flow.Deployment, flow.Carried{}); err != nil {
			t.Fatal(err)
		}
		want = append(want, r.ID, r.ID)
	}
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(time.Second) {
		s.mu.Lock()
		n := len(s.done)
		s.mu.Unlock()
		if n >= len(want) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d rounds were done", n, len(want))
		}
	}
	s.mu.Lock()
	if !slices.Equal(s.done, want) {
		t.Error("the requests weren't done once each, in order")
	}
	s.mu.Unlock()
	runs, events, bytes := 0, int64(0), int64(0)
	for end := time.Now().Add(time.Minute); runs == 0 && time.Now().Before(end); time.Sleep(time.Second) {
		answer, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = %q", id)})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range answer.Executions {
			d, err := c.DescribeWorkflowExecution(t.Context(), id, e.Execution.RunId)
			if err != nil {
				t.Fatal(err)
			}
			runs++
			events, bytes = max(events, d.WorkflowExecutionInfo.HistoryLength), max(bytes, d.WorkflowExecutionInfo.HistorySizeBytes)
		}
	}
	t.Logf("%d runs, the longest with %d events and %d KiB", runs, events, bytes>>10)
	if runs < 2 || events > 10_000 || bytes > 10<<20 {
		t.Errorf("%d runs, the longest with %d events and %d KiB", runs, events, bytes>>10)
	}
}
