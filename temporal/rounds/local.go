package rounds

import (
	"context"
	"crypto/rand"
	"sync"
)

// Steps are the steps as functions, which both hosts run: activities of a workflow, or
// calls within the process.
type Steps interface {
	// Plan, Apply and Resolve are about one deployment. Again says that a try before this one
	// may have done a part of it.
	Plan(context.Context, Request) (Planned, error)
	Apply(ctx context.Context, r Request, planned Planned, again bool) (Applied, error)
	Settle(context.Context, Request, Decision) (problem string, err error)
	// Check says why a decision about a request doesn't count.
	Check(context.Context, Request, Decision) (problem string, err error)
	Publish(context.Context, Whole) (Published, error)
	// Last is what was asked for a stack last, as a request with that ID.
	Last(ctx context.Context, stack, id string, via []string) (Whole, error)
}

// A Local runs the workflows within this process: nothing of them outlives it, but for
// what the store has.
type Local struct {
	Steps Steps
	// Ask decides about a deployment that waits, and has the decision signed; its error
	// leaves it.
	Ask func(Status) (Decision, error)
	// Tell is given each change of a status.
	Told func(Status)
	// Most is how many deployments are at work at the same time.
	Most int

	mu, asking sync.Mutex
}

// Run does what is requested a stack, and for those that follow.
func (l *Local) Run(ctx context.Context, w Whole) []Overview {
	c := &localStack{Local: l, ctx: ctx, over: make(chan Status, len(w.Deployments)), slots: make(chan struct{}, max(l.Most, 1))}
	first := Conduct(c, w)
	return append([]Overview{first}, c.followed...)
}

type localStack struct {
	*Local
	ctx      context.Context
	over     chan Status
	slots    chan struct{}
	followed []Overview
}

func (c *localStack) Begin(list []Request) error {
	for _, r := range list {
		go func() {
			c.slots <- struct{}{}
			defer func() { <-c.slots }()
			c.over <- Deploy(&localDeployment{Local: c.Local, ctx: c.ctx}, r)
		}()
	}
	return nil
}

func (c *localStack) Next() (Status, error) { return <-c.over, nil }

func (c *localStack) Publish(w Whole) (Published, error) { return c.Steps.Publish(c.ctx, w) }

func (c *localStack) Follow(stack string, via []string) (string, error) {
	w, err := c.Steps.Last(c.ctx, stack, rand.Text(), via)
	if err != nil {
		return "", err
	}
	c.followed = append(c.followed, c.Run(c.ctx, w)...)
	return "", nil
}

func (c *localStack) Tell(Overview) {}

type localDeployment struct {
	*Local
	ctx  context.Context
	last Status
}

func (d *localDeployment) Plan(r Request) (Planned, error) { return d.Steps.Plan(d.ctx, r) }

func (d *localDeployment) Apply(r Request, p Planned) (Applied, error) {
	return d.Steps.Apply(d.ctx, r, p, false)
}

func (d *localDeployment) Settle(r Request, said Decision) (string, error) {
	return d.Steps.Settle(d.ctx, r, said)
}

// Check holds for answers of people; an interrupt needs no signature.
func (d *localDeployment) Check(r Request, said Decision) (string, error) {
	if d.ctx.Err() != nil && said.Kind == Cancel {
		return "", nil
	}
	return d.Steps.Check(d.ctx, r, said)
}

func (d *localDeployment) Version() int { return Version }

func (d *localDeployment) Decision() (Decision, error) {
	d.asking.Lock() // people are asked one thing at a time
	defer d.asking.Unlock()
	if d.ctx.Err() != nil {
		return Decision{Kind: Cancel, Author: Author{By: "an interrupt"}}, nil
	}
	return d.Ask(d.last)
}

func (d *localDeployment) Cancelled() bool { return d.ctx.Err() != nil }

func (d *localDeployment) Tell(s Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = s
	d.Told(s)
}
