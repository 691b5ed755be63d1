// Command service is a small CI service. It takes jobs, each a workspace of a configuration
// with its variables. It plans and applies them concurrently, each with its own state, events
// and result.
//
//	go run ./service -dir ../hello -states /tmp/states -workspaces north,south
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"

	"weir.dev/weir"
)

func main() {
	dir := flag.String("dir", ".", "the configuration")
	states := flag.String("states", "states", "where states are kept")
	names := flag.String("workspaces", "default", "workspaces to apply, separated by commas")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	s := &Service{Open: func(j Job, o weir.Options) (*weir.Workspace, error) {
		o.Environ, o.Store = os.Environ(), Folder(*states)
		return weir.Open(*dir, o)
	}}
	var jobs []Job
	for _, name := range strings.Split(*names, ",") {
		jobs = append(jobs, Job{Workspace: name})
	}
	failed := false
	for _, r := range s.Run(ctx, jobs) {
		if r.Err != nil {
			failed = true
			log.Printf("%s: %s", r.Job.Workspace, r.Err)
			continue
		}
		fmt.Printf("%s: %d to add, %d to change, %d to destroy; %d resources now\n", r.Job.Workspace, r.Summary.Add, r.Summary.Change, r.Summary.Destroy, r.Resources)
	}
	if failed {
		os.Exit(1)
	}
}

// A Job is a workspace to bring to what the configuration says.
type Job struct {
	Workspace string
	Variables map[string]any
}

// An Outcome is what a job has come to.
type Outcome struct {
	Job       Job
	Summary   weir.Summary
	Resources int
	Outputs   map[string]weir.Output
	Events    []weir.Event
	Err       error
}

// A Service runs jobs.
type Service struct {
	// Open opens the workspace of a job.
	Open func(Job, weir.Options) (*weir.Workspace, error)
	// Limit rejects plans that destroy more than that; nil allows all.
	Limit *int
}

// Run does all jobs at the same time, and waits for them.
func (s *Service) Run(ctx context.Context, jobs []Job) []Outcome {
	out := make([]Outcome, len(jobs))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() { out[i] = s.one(ctx, j) })
	}
	all.Wait()
	return out
}

func (s *Service) one(ctx context.Context, j Job) (out Outcome) {
	out.Job = j
	var mu sync.Mutex
	ws, err := s.Open(j, weir.Options{
		Workspace: j.Workspace, Variables: j.Variables, Who: "service",
		Events: func(e weir.Event) {
			mu.Lock()
			defer mu.Unlock()
			out.Events = append(out.Events, e)
		},
	})
	if err != nil {
		out.Err = err
		return out
	}
	defer ws.Close()
	if out.Err = ws.Init(ctx, weir.InitOptions{ReadOnlyLocks: false}); out.Err != nil {
		return out
	}
	result, err := ws.PlanAndApply(ctx, weir.PlanOptions{}, weir.ApplyOptions{
		Approve: func(_ context.Context, p *weir.Plan) bool {
			out.Summary = p.Summary()
			return s.Limit == nil || out.Summary.Destroy <= *s.Limit
		},
	})
	switch {
	case errors.Is(err, weir.ErrNotApproved):
		out.Err = fmt.Errorf("the plan destroys %d objects, which somebody has to look at", out.Summary.Destroy)
	case err != nil:
		out.Err = err
	default:
		out.Resources, out.Outputs = len(result.State.Resources), result.State.Outputs
	}
	return out
}
