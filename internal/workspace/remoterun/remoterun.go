// Package remoterun plans and applies at the service of a workspace, such as HCP Terraform. It
// uploads the configuration, starts a run, follows its logs and checks, and confirms it.
//
// It owns the order of these steps and when a run is canceled or discarded. It knows no requests
// (package storage/remote) and no terminal.
package remoterun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-slug"

	"weir.dev/weir/internal/state/storage/remote"
)

// A Viewer shows a run and answers questions about it.
type Viewer interface {
	// Say is given a line about the course of the run.
	Say(text string)
	// Line is given a line of the log of a phase.
	Line(phase string, line []byte)
	// Planned is given the plan in the form for programs, nil where the service has none.
	Planned(plan []byte) error
	// Ask puts a question that only the keyword agrees to.
	Ask(ctx context.Context, q Question) (agreed bool, err error)
}

// A Question is what a person decides.
type Question uint8

const (
	Confirm  Question = iota // that the plan is applied
	Override                 // that it continues although policies failed
	Cancel                   // that the run ends
)

// A Command is a plan or an apply at the service.
type Command struct {
	Runs    *remote.Runs
	By      Viewer
	Options remote.Options
	// Dir is the directory of the configuration, "" for none, which is enough to destroy.
	Dir string
	// Pending is how long a run may wait for its start until it is canceled, 0 for any time.
	Pending time.Duration
	// Ending is for how long requests that end a run may take; nil for any time.
	Ending context.Context

	run    *remote.Run // nil before it was made
	stages map[string]string
}

// ErrDeclined is returned where somebody decided against an apply.
var ErrDeclined = errors.New("the apply was declined")

// Plan plans. The run says what came of it, also beside an error.
func (c *Command) Plan(ctx context.Context) (*remote.Run, error) {
	return c.ended(ctx, c.plan(ctx))
}

// Apply plans, asks unless that was approved, and applies.
func (c *Command) Apply(ctx context.Context) (*remote.Run, error) {
	return c.ended(ctx, c.planAndApply(ctx))
}

// ApplySaved applies a run that was planned before.
func (c *Command) ApplySaved(ctx context.Context, id string) (*remote.Run, error) {
	return c.ended(ctx, c.saved(ctx, id))
}

// ended cancels the run if ctx has ended, and reports what has become of it.
func (c *Command) ended(ctx context.Context, err error) (*remote.Run, error) {
	if c.run == nil || ctx.Err() == nil {
		if c.run != nil && err == nil {
			err = c.failure()
		}
		return c.run, err
	}
	after := c.Ending
	if after == nil {
		after = context.WithoutCancel(ctx)
	}
	if problem := c.reread(after); problem != nil {
		return c.run, errors.Join(context.Cause(ctx), problem)
	}
	return c.run, errors.Join(context.Cause(ctx), c.cancel(after))
}

// failure is why a run that ended has failed, nil if it hasn't.
func (c *Command) failure() error {
	text := ""
	switch c.run.Attributes.Status {
	case "errored":
		text = "the run ended with an error"
	case "canceled", "force_canceled":
		text = "the run was canceled"
	case "discarded":
		text = "the run was discarded"
	default:
		return nil
	}
	return fmt.Errorf("%s: %s", text, c.Runs.URL(c.run.ID))
}

// cancel ends the run after an interrupt, if that is wanted.
func (c *Command) cancel(ctx context.Context) error {
	if !c.run.Attributes.Actions.Cancelable && !c.run.Attributes.Actions.Discardable {
		return nil
	}
	if !c.Options.Approved {
		agreed, err := c.By.Ask(ctx, Cancel)
		if err != nil || !agreed {
			c.By.Say("The run continues at the service: " + c.Runs.URL(c.run.ID))
			return err
		}
	}
	action := "cancel"
	if !c.run.Attributes.Actions.Cancelable {
		action = "discard"
	}
	if err := c.Runs.Act(ctx, c.run.ID, action); err != nil {
		return err
	}
	c.By.Say("The run is canceled.")
	return nil
}

func (c *Command) reread(ctx context.Context) error {
	run, err := c.Runs.Run(ctx, c.run.ID)
	if err == nil {
		c.run = run
	}
	return err
}

// How long the first and the longest wait between two requests of the same kind are.
const (
	firstWait   = 200 * time.Millisecond
	longestWait = 3 * time.Second
)

// pause waits before the next request, the n-th of its kind.
func pause(ctx context.Context, n int) error {
	wait := longestWait
	if n < 12 {
		wait = min(wait, firstWait*time.Duration(n+4)*time.Duration(n+4)/16)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

// plan makes the run and follows it until it is decided whether it can be applied.
func (c *Command) plan(ctx context.Context) error {
	archive, err := c.pack()
	if err != nil {
		return fmt.Errorf("the configuration can't be packed: %w", err)
	}
	configuration, err := c.Runs.Upload(ctx, c.Options, archive)
	if err != nil {
		return fmt.Errorf("the configuration can't be uploaded: %w", err)
	}
	for n := 0; ; n++ {
		there, err := c.Runs.Uploaded(ctx, configuration)
		if err != nil {
			return err
		}
		if there {
			break
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	if c.run, err = c.Runs.Create(ctx, configuration, c.Options); err != nil {
		return fmt.Errorf("the run can't be started: %w", err)
	}
	c.By.Say("To view this run in a browser, visit:\n" + c.Runs.URL(c.run.ID) + "\n")
	if err := c.findStages(ctx); err != nil {
		return err
	}
	if err := c.stage(ctx, "pre_plan"); err != nil {
		return err
	}
	if err := c.start(ctx, "plan"); err != nil {
		return err
	}
	if err := c.follow(ctx, remote.Planning, c.run.Relationships.Plan.ID()); err != nil {
		return err
	}
	if err := c.show(ctx); err != nil {
		return err
	}
	if err := c.stage(ctx, "post_plan"); err != nil {
		return err
	}
	if err := c.cost(ctx); err != nil {
		return err
	}
	if err := c.policies(ctx); err != nil {
		return err
	}
	return c.settle(ctx, func(run *remote.Run) bool { return run.Attributes.Actions.Confirmable || !planning(run) })
}

// pack archives the directory, without what .terraformignore names.
func (c *Command) pack() ([]byte, error) {
	dir, within := c.Dir, filepath.FromSlash(strings.Trim(c.Runs.Subdirectory(), "/"))
	switch {
	case dir == "":
		empty, err := os.MkdirTemp("", "weir")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(empty)
		if err := os.MkdirAll(filepath.Join(empty, within), 0o700); err != nil {
			return nil, err
		}
		dir = empty
	case within != "":
		if above, ok := strings.CutSuffix(dir, string(filepath.Separator)+within); ok {
			dir = above
		} else {
			c.By.Say(fmt.Sprintf("The workspace works in the directory %q. It has to be below this one, which is uploaded.", within))
		}
	}
	p, err := slug.NewPacker(slug.DereferenceSymlinks(), slug.ApplyTerraformIgnore())
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	_, err = p.Pack(dir, &archive)
	return archive.Bytes(), err
}

// said is how often it is repeated what a run waits for.
const said = 30 * time.Second

// start waits until a phase has started.
func (c *Command) start(ctx context.Context, phase string) error {
	began := time.Now()
	last := time.Time{}
	for n := 0; ; n++ {
		if err := c.reread(ctx); err != nil {
			return err
		}
		if s := c.run.Attributes.Status; s != "pending" && s != "confirmed" {
			return nil
		}
		if c.Pending > 0 && time.Since(began) > c.Pending && c.run.Attributes.Actions.Cancelable {
			err := c.Runs.Act(ctx, c.run.ID, "cancel")
			return errors.Join(fmt.Errorf("the %s didn't start within %s, so the run is canceled", phase, c.Pending), err)
		}
		if n > 0 && time.Since(last) > said {
			why, err := c.Runs.Blocked(ctx, c.run.ID)
			if err != nil {
				return err
			}
			last = time.Now()
			text := fmt.Sprintf("Waiting for the %s to start...", phase)
			if elapsed := time.Since(began).Truncate(said); elapsed > 0 {
				text += fmt.Sprintf(" (%s elapsed)", elapsed)
			}
			if why != "" {
				text += "\n" + strings.ToUpper(why[:1]) + why[1:]
			}
			c.By.Say(text)
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// follow prints the log of a phase to its end.
func (c *Command) follow(ctx context.Context, kind, id string) error {
	if id == "" {
		return nil
	}
	var rest []byte
	for n, from := 0, 0; ; n++ {
		phase, err := c.Runs.Phase(ctx, kind, id)
		if err != nil {
			return err
		}
		var text []byte
		whole := false
		if phase.Begun() {
			if text, from, whole, err = c.Runs.Log(ctx, phase, from); err != nil {
				return fmt.Errorf("the log can't be read: %w", err)
			}
		}
		rest = append(rest, text...)
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			c.By.Line(kind, bytes.TrimSuffix(line, []byte("\r")))
			rest = after
		}
		if whole || phase.Ended() && len(text) == 0 {
			if len(rest) > 0 {
				c.By.Line(kind, rest)
			}
			return nil
		}
		if len(text) > 0 {
			n = 0
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// show has the plan shown.
func (c *Command) show(ctx context.Context) error {
	if err := c.reread(ctx); err != nil {
		return err
	}
	id := c.run.Relationships.Plan.ID()
	phase, err := c.Runs.Phase(ctx, remote.Planning, id)
	if err != nil || phase.Attributes.Status != "finished" && !phase.Attributes.Generated {
		return err
	}
	plan, err := c.Runs.PlanJSON(ctx, id, true)
	if err != nil {
		return fmt.Errorf("the plan can't be read: %w", err)
	}
	return c.By.Planned(plan)
}

// planning reports whether a run is on the way to a decision.
func planning(run *remote.Run) bool {
	return resting(run) || slices.Contains([]string{
		"pending", "fetching", "fetching_completed", "pre_plan_running", "pre_plan_completed", "queuing", "plan_queued", "planning",
		"cost_estimating", "policy_checking", "post_plan_running",
	}, run.Attributes.Status)
}

// applying reports whether a run was confirmed and hasn't ended.
func applying(run *remote.Run) bool {
	return slices.Contains([]string{"confirmed", "pre_apply_running", "pre_apply_completed", "queuing_apply", "apply_queued", "applying"}, run.Attributes.Status)
}

// resting reports whether the status may be the last one before a decision: it depends on the
// workspace whether more checks follow.
func resting(run *remote.Run) bool {
	return slices.Contains([]string{"planned", "cost_estimated", "policy_checked", "post_plan_completed"}, run.Attributes.Status)
}

// rests is how often a status that may be the last one is read before it is taken for it.
const rests = 6

// settle reads the run until its status is good.
func (c *Command) settle(ctx context.Context, good func(*remote.Run) bool) error {
	for n, rested := 0, 0; ; n++ {
		if err := c.reread(ctx); err != nil {
			return err
		}
		if resting(c.run) {
			rested++
		}
		if good(c.run) || rested > rests {
			return nil
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

func (c *Command) planAndApply(ctx context.Context) error {
	if err := c.plan(ctx); err != nil {
		return err
	}
	a := c.run.Attributes
	switch {
	case !a.HasChanges || c.failure() != nil || a.Status == "planned_and_finished":
		return nil
	case c.Options.Approved: // the service continues by itself
	case !a.Actions.Confirmable && !applying(c.run) && a.Status != "applied":
		return fmt.Errorf("the run can't be applied from here: it is %s: %s", strings.ReplaceAll(a.Status, "_", " "), c.Runs.URL(c.run.ID))
	case a.Actions.Confirmable:
		if err := c.confirm(ctx); err != nil {
			return err
		}
	}
	return c.apply(ctx)
}

// confirm asks whether the plan is to be applied, unless somebody decides at the service first.
func (c *Command) confirm(ctx context.Context) error {
	agreed, elsewhere, err := c.ask(ctx, Confirm, func(run *remote.Run) bool { return run.Attributes.Actions.Confirmable })
	switch {
	case err != nil:
		return err
	case elsewhere:
		if c.run.Attributes.Status == "discarded" {
			c.By.Say("Somebody has discarded the run at the service.")
			return ErrDeclined
		}
		c.By.Say("Somebody has approved the run at the service.")
		return nil
	case agreed:
		return c.act(ctx)
	}
	if err := c.discard(ctx); err != nil {
		return err
	}
	return ErrDeclined
}

// discard ends a run that nobody wants to be applied, so that it doesn't block the next one.
func (c *Command) discard(ctx context.Context) error {
	if err := c.reread(ctx); err != nil || !c.run.Attributes.Actions.Discardable {
		return err
	}
	if err := c.Runs.Act(ctx, c.run.ID, "discard"); err != nil {
		return fmt.Errorf("the run can't be discarded: %w", err)
	}
	return nil
}

// act confirms the run. Where the service says that this can't be done, an answer may have been
// lost: then it is done.
func (c *Command) act(ctx context.Context) error {
	err := c.Runs.Act(ctx, c.run.ID, "apply")
	if err == nil {
		return nil
	}
	if c.reread(ctx) == nil && (applying(c.run) || c.run.Attributes.Status == "applied") {
		return nil
	}
	return fmt.Errorf("the run can't be confirmed: %w", err)
}

// ask puts a question while it is still open at the service. Elsewhere: somebody answered there.
func (c *Command) ask(ctx context.Context, q Question, open func(*remote.Run) bool) (agreed, elsewhere bool, err error) {
	asking, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	var answered *remote.Run
	watching.Go(func() {
		for pause(asking, 12) == nil {
			run, err := c.Runs.Run(asking, c.run.ID)
			if err == nil && !open(run) {
				answered = run
				stop()
			}
		}
	})
	agreed, err = c.By.Ask(asking, q)
	stop()
	watching.Wait()
	if answered != nil {
		c.run = answered
		return false, true, nil
	}
	return agreed, false, err
}

// apply follows the apply of a run that is confirmed.
func (c *Command) apply(ctx context.Context) error {
	if err := c.findStages(ctx); err != nil {
		return err
	}
	if err := c.stage(ctx, "pre_apply"); err != nil {
		return err
	}
	if err := c.start(ctx, "apply"); err != nil {
		return err
	}
	if err := c.follow(ctx, remote.Applying, c.run.Relationships.Apply.ID()); err != nil {
		return err
	}
	return c.settle(ctx, func(run *remote.Run) bool { return !planning(run) && !applying(run) })
}

func (c *Command) saved(ctx context.Context, id string) error {
	run, err := c.Runs.Run(ctx, id)
	if err != nil {
		return fmt.Errorf("the run %s of the saved plan can't be read: %w", id, err)
	}
	switch a := run.Attributes; {
	case !c.Runs.Ours(run):
		return fmt.Errorf("the saved plan isn't one of the workspace %s", c.Runs.Name())
	case !a.Actions.Confirmable:
		return fmt.Errorf("the saved plan can't be applied: %s. More: %s", unusable(a.Status), c.Runs.URL(id))
	}
	c.run = run
	c.By.Say("To view this run in a browser, visit:\n" + c.Runs.URL(id) + "\n")
	if err := c.act(ctx); err != nil {
		return err
	}
	return c.apply(ctx)
}

// unusable says why a run with a status can't be applied.
func unusable(status string) string {
	switch status {
	case "applied":
		return "it was applied already"
	case "applying", "apply_queued", "confirmed":
		return "it is being applied"
	case "canceled", "force_canceled":
		return "the run was canceled"
	case "discarded":
		return "the run was discarded, by somebody or because another one was applied first"
	case "errored":
		return "the plan failed"
	case "planned_and_finished":
		return "it has no changes"
	case "policy_override":
		return "policies failed, and somebody has to override them first"
	}
	return "the run is " + strings.ReplaceAll(status, "_", " ")
}
