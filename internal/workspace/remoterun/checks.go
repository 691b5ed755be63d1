package remoterun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/state/storage/remote"
)

// findStages finds the stages of the run by their names.
func (c *Command) findStages(ctx context.Context) error {
	all, err := c.Runs.Stages(ctx, c.run.ID)
	c.stages = map[string]string{}
	for _, s := range all {
		c.stages[s.Attributes.Stage] = s.ID
	}
	return err
}

// stage waits for the stage of a name, and prints what its tasks and policies say.
func (c *Command) stage(ctx context.Context, name string) error {
	id := c.stages[name]
	for n := 0; id != ""; n++ {
		s, err := c.Runs.Stage(ctx, id)
		if err != nil {
			return err
		}
		switch status := s.Attributes.Status; status {
		case "pending", "running":
			if err := c.reread(ctx); err != nil {
				return err
			}
			if status == "pending" && c.failure() != nil {
				return nil // it ended before
			}
		case "unreachable":
			return nil
		case "passed":
			return c.report(ctx, name, s)
		default:
			if err := c.report(ctx, name, s); err != nil {
				return err
			}
			if status != "awaiting_override" {
				return fmt.Errorf("the %s checks %s: %s", strings.ReplaceAll(name, "_", "-"), status, c.Runs.URL(c.run.ID))
			}
			return c.override(ctx, s.Attributes.Actions.Overridable && s.Attributes.Permissions.Override,
				[]string{"post_plan_awaiting_decision", "policy_override", "pre_plan_awaiting_decision", "pre_apply_awaiting_decision"},
				func(ctx context.Context) error { return c.Runs.OverrideStage(ctx, id) })
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// report prints what the tasks and policies of a stage say.
func (c *Command) report(ctx context.Context, name string, s *remote.Stage) error {
	title := strings.ReplaceAll(name, "_", "-")
	if results := s.Relationships.Results.Data; len(results) > 0 {
		c.By.Say("\n" + strings.ToUpper(title[:1]) + title[1:] + " tasks:\n")
		for _, link := range results {
			t, err := c.Runs.TaskResult(ctx, link.ID)
			if err != nil {
				return err
			}
			a := t.Attributes
			line := "  " + a.Name + ": " + a.Status
			if a.Status != "passed" {
				line += " (" + a.Level + ")"
			}
			for _, more := range []string{a.Message, a.URL} {
				if more != "" {
					line += "\n    " + strings.ReplaceAll(more, "\n", "\n    ")
				}
			}
			c.By.Say(line)
		}
	}
	all, err := c.Runs.Evaluations(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, e := range all {
		c.By.Say(fmt.Sprintf("\n%s policies: %s\n", strings.ToUpper(e.Attributes.Kind), e.Attributes.Status))
		outcomes, err := c.Runs.Outcomes(ctx, e.ID)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			c.By.Say("  " + o.Attributes.Set + ":")
			if o.Attributes.Error != "" {
				c.By.Say("    " + o.Attributes.Error)
			}
			for _, p := range o.Attributes.Outcomes {
				line := "    " + p.Name + ": " + p.Status
				if p.Status != "passed" {
					line += " (" + p.Level + ")"
				}
				if p.Description != "" {
					line += "\n      " + p.Description
				}
				c.By.Say(line)
			}
		}
	}
	return nil
}

// cost prints the estimate of the costs, if there is one.
func (c *Command) cost(ctx context.Context) error {
	id := c.run.Relationships.CostEstimate.ID()
	for n := 0; id != ""; n++ {
		e, err := c.Runs.Cost(ctx, id)
		if err != nil {
			return err
		}
		a := e.Attributes
		switch a.Status {
		case "finished":
			sign, delta := "+", a.Delta
			if rest, less := strings.CutPrefix(delta, "-"); less {
				sign, delta = "-", rest
			}
			c.By.Say(fmt.Sprintf("\nCost estimation:\n\n  Resources: %d of %d estimated\n  $%s/mo %s$%s", a.Matched, a.All, a.Proposed, sign, delta))
			return nil
		case "skipped_due_to_targeting":
			c.By.Say("\nCost estimation: not available for a plan with -target.")
			return nil
		case "errored":
			c.By.Say("\nCost estimation failed: " + a.Error)
			return nil
		case "canceled":
			return nil
		}
		if c.failure() != nil {
			return nil
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
		if err := c.reread(ctx); err != nil {
			return err
		}
	}
	return nil
}

// policies prints what the policy checks say, one after the other.
func (c *Command) policies(ctx context.Context) error {
	if err := c.reread(ctx); err != nil {
		return err
	}
	for _, link := range c.run.Relationships.PolicyChecks.Data {
		if err := c.policy(ctx, link.ID); err != nil {
			return err
		}
	}
	return nil
}

func (c *Command) policy(ctx context.Context, id string) error {
	p, err := c.Runs.PolicyCheck(ctx, id)
	for n := 0; err == nil && slices.Contains([]string{"pending", "queued", "unreachable"}, p.Attributes.Status); n++ {
		if p.Attributes.Status == "unreachable" || c.failure() != nil {
			return nil
		}
		if err = pause(ctx, n); err == nil {
			err = c.reread(ctx)
		}
		if err == nil {
			p, err = c.Runs.PolicyCheck(ctx, id)
		}
	}
	if err != nil {
		return err
	}
	text, err := c.Runs.PolicyOutput(ctx, id)
	if err != nil {
		return err
	}
	a := p.Attributes
	title := "policy check"
	if a.Scope != "" {
		title = a.Scope + " " + title
	}
	c.By.Say("\n" + strings.ToUpper(title[:1]) + title[1:] + ":\n\n" + strings.TrimRight(string(text), "\n"))
	switch a.Status {
	case "passed", "overridden":
		return nil
	case "soft_failed":
		return c.override(ctx, a.Actions.Overridable && a.Permissions.Override, []string{"policy_override"},
			func(ctx context.Context) error { return c.Runs.OverridePolicy(ctx, id) })
	}
	return fmt.Errorf("the %s %s", title, strings.ReplaceAll(a.Status, "_", "-"))
}

// override has a run continue although policies failed, where somebody may and wants to. Open are the
// statuses of a run for which nobody has decided at the service.
func (c *Command) override(ctx context.Context, may bool, open []string, do func(context.Context) error) error {
	failed := fmt.Errorf("policies failed: %s", c.Runs.URL(c.run.ID))
	if c.Options.PlanOnly || c.Options.Save || !may {
		return failed
	}
	if !c.Options.Approved {
		agreed, elsewhere, err := c.ask(ctx, Override, func(run *remote.Run) bool { return slices.Contains(open, run.Attributes.Status) })
		switch {
		case err != nil:
			return err
		case elsewhere:
			return nil
		case !agreed:
			return errors.Join(failed, c.discard(ctx))
		}
	}
	if err := do(ctx); err != nil {
		return fmt.Errorf("the policies can't be overridden: %w", err)
	}
	return nil
}
