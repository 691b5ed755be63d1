package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/temporal/flow"
	"weir.dev/weir/temporal/rounds"
	"weir.dev/weir/temporal/work"
)

func decisionFlags(f *flag.FlagSet, s *settings) {
	f.StringVar(&s.plan, "plan", "", "Select the plan whose hash starts with `HASH`, at least 8 characters.")
}

func recoverFlags(f *flag.FlagSet, s *settings) {
	f.Var((*texts)(&s.settle.Import), "import", "Import an existing object in doubt by `ADDRESS=ID`; repeatable.")
	f.Var((*texts)(&s.settle.Forget), "forget", "Resolve `ADDRESS`: the object doesn't exist; repeatable.")
	f.BoolVar(&s.settle.ForgetAll, "forget-all", false, "Resolve all objects in doubt except imported ones: they don't exist.")
}

// named is the stack that is meant.
func (s *settings) named() (string, error) {
	if s.stack != "" {
		return s.stack, nil
	}
	dir, err := filepath.Abs(".")
	if err == nil {
		if files, _ := filepath.Glob("*.tfcomponent.*"); len(files) == 0 {
			err = errors.New("there is no stack in this directory; say which with -stack=NAME")
		}
	}
	return work.Name(dir), err
}

// list lists deployments: those of the stack that is named or in the directory, or all.
func list(ctx context.Context, s *settings) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	stack, err := s.named()
	if err != nil {
		stack = ""
	}
	all, err := flow.List(ctx, c, stack)
	if err != nil {
		return err
	}
	for _, st := range all {
		if len(s.deployments) > 0 && !slices.Contains(s.deployments, st.Deployment) {
			continue
		}
		if s.json {
			s.sayStatus(st)
			continue
		}
		fmt.Fprintf(s.out, "%s/%s  round %d  %s", st.Stack, st.Deployment, max(st.Round, 1), st.Phase)
		switch n := st.Plan.Counts; {
		case st.Phase == rounds.Waiting:
			fmt.Fprintf(s.out, "  plan %s: %d to add, %d to change, %d to destroy", short(st.Plan.Plan), n.Add, n.Change, n.Destroy)
		case st.Phase == rounds.Doubtful:
			fmt.Fprintf(s.out, "  %s", strings.Join(st.Plan.Doubts, " "))
		case st.Phase == rounds.Failed:
			first, _, _ := strings.Cut(st.Problem, "\n")
			fmt.Fprintf(s.out, "  %s", first)
		}
		fmt.Fprintln(s.out)
	}
	if len(all) == 0 && !s.json {
		fmt.Fprintln(s.out, "There are no deployments.")
	}
	return nil
}

// follow reports what happens to a stack; of a single deployment also what has happened.
func follow(ctx context.Context, s *settings) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := s.depot()
	if err != nil {
		return err
	}
	stack, err := s.named()
	if err != nil {
		return err
	}
	for _, name := range s.deployments {
		st, err := flow.Status(ctx, c, stack, name)
		if err != nil {
			return fmt.Errorf("there is no deployment %s of a stack %s at work: %w", name, stack, err)
		}
		for _, line := range st.Lines {
			if s.json {
				break // the status has them
			}
			fmt.Fprintf(s.out, "%s/%s  %s\n", stack, name, line)
		}
	}
	return s.following(ctx, c, d, rounds.Whole{Stack: stack, Deployments: s.deployments})
}

// decision reports deployments what somebody has decided: those that are named, or all of the
// stack that it can be about.
func decision(kind string) func(context.Context, *settings) error {
	about := map[string][]rounds.Phase{
		rounds.Approve: {rounds.Waiting},
		rounds.Reject:  {rounds.Waiting},
		rounds.Cancel:  {rounds.Planning, rounds.Waiting, rounds.Doubtful, rounds.Applying},
		rounds.Recover: {rounds.Doubtful},
	}[kind]
	return func(ctx context.Context, s *settings) error {
		if kind == rounds.Recover {
			if len(s.deployments) != 1 {
				return errors.New("say with -deployment=NAME whose objects these are")
			}
			if !s.settle.ForgetAll && len(s.settle.Import)+len(s.settle.Forget) == 0 {
				return errors.New("say of each object in doubt that it exists, with -import=ADDRESS=ID, or that it doesn't, with -forget=ADDRESS. To see which are in doubt:\n    weir stacks list")
			}
		}
		if len(s.plan) > 0 && len(s.plan) < 8 {
			return fmt.Errorf("-plan is %q; give at least 8 characters of what the list shows", s.plan)
		}
		c, err := s.dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		store, err := s.depot()
		if err != nil {
			return err
		}
		stack, err := s.named()
		if err != nil {
			return err
		}
		all, err := flow.List(ctx, c, stack)
		if err != nil {
			return err
		}
		told := 0
		for _, st := range all {
			if len(s.deployments) > 0 && !slices.Contains(s.deployments, st.Deployment) || !slices.Contains(about, st.Phase) || !strings.HasPrefix(st.Plan.Plan, s.plan) {
				continue
			}
			// The plan is what the list showed, and no later one.
			d := rounds.Decision{Kind: kind, Plan: st.Plan.Plan, Settlement: s.settle, Author: rounds.Author{By: who()}}
			if err := work.SignDecision(ctx, store, st.Asked(), &d); err != nil {
				return fmt.Errorf("the store can't sign this: %w", err)
			}
			if err := flow.Decide(ctx, c, stack, st.Deployment, d); err != nil {
				return err
			}
			fmt.Fprintf(s.out, "%s/%s  %s\n", stack, st.Deployment, kind)
			told++
		}
		if told == 0 {
			return fmt.Errorf("no deployment of the stack %s is where this can be said of it. To see where they are:\n    weir stacks list -stack=%s", stack, stack)
		}
		return nil
	}
}
