// Command controller finds drift of infrastructure from a configuration, corrects it, and
// resolves objects in doubt after an interrupted run, again and again.
//
//	go run ./controller -dir ../hello -every 10s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"weir.dev/weir"
)

func main() {
	dir := flag.String("dir", ".", "the configuration")
	every := flag.Duration("every", time.Minute, "how often to look")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	ws, err := weir.Open(*dir, weir.Options{Environ: os.Environ(), Who: "controller"})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	if err := ws.Init(ctx, weir.InitOptions{}); err != nil {
		log.Fatal(err)
	}
	c := &Controller{Workspace: ws, Tell: func(text string) { log.Print(text) }}
	tick := time.NewTicker(*every)
	defer tick.Stop()
	for {
		if err := c.Reconcile(ctx); err != nil {
			log.Print(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// A Controller brings a workspace to what its configuration says.
type Controller struct {
	Workspace *weir.Workspace
	// Find looks whether an object in doubt exists, and returns its id, or nothing;
	// nil leaves that to people.
	Find func(ctx context.Context, d weir.Doubt) (id string, err error)
	Tell func(text string)
}

// Reconcile looks once. Where somebody else is at work it leaves that to them.
func (c *Controller) Reconcile(ctx context.Context) error {
	if err := c.settle(ctx); err != nil {
		return ignoreLocked(err)
	}
	_, err := c.Workspace.PlanAndApply(ctx, weir.PlanOptions{}, weir.ApplyOptions{
		Stop: ctx.Done(), // let what is under way end
		Approve: func(_ context.Context, p *weir.Plan) bool {
			for _, d := range p.Drift() {
				c.Tell(fmt.Sprintf("%s was changed outside", d.Address))
			}
			for _, change := range p.Changes() {
				c.Tell(fmt.Sprintf("%s %s", change.Action, change.Address))
			}
			return true
		},
	})
	return ignoreLocked(err)
}

// settle finds out about objects that a former run has left in doubt.
func (c *Controller) settle(ctx context.Context) error {
	doubts, err := c.Workspace.Recover(ctx, weir.RecoverOptions{})
	if err != nil || len(doubts) == 0 || c.Find == nil {
		return err
	}
	o := weir.RecoverOptions{Import: map[string]string{}}
	for _, d := range doubts {
		id, err := c.Find(ctx, d)
		switch {
		case err != nil:
			return err
		case id == "":
			o.Forget = append(o.Forget, d.Address)
			c.Tell(d.Address + " was never made")
		default:
			o.Import[d.Address] = id
			c.Tell(d.Address + " exists, as " + id)
		}
	}
	_, err = c.Workspace.Recover(ctx, o)
	return err
}

func ignoreLocked(err error) error {
	if errors.Is(err, weir.ErrLocked) {
		return nil
	}
	return err
}
