package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/flow"
	"weir.dev/weir/temporal/rounds"
	"weir.dev/weir/temporal/work"
)

// requestFlags are those of requests for stacks and for root modules.
func requestFlags(f *flag.FlagSet, s *settings) {
	f.BoolVar(&s.options.AutoApprove, "auto-approve", false, "Apply without approval.")
	f.BoolVar(&s.options.RefreshOnly, "refresh-only", false, "Only update the states.")
	f.BoolFunc("refresh", "Refresh objects before planning (default: true).", func(text string) (err error) {
		refresh, err := strconv.ParseBool(text)
		s.options.SkipRefresh = !refresh
		return err
	})
	jsonFlag(f, s)
	f.BoolVar(&s.detach, "detach", false, "Don't follow the deployments.")
}

func applyFlags(f *flag.FlagSet, s *settings) {
	requestFlags(f, s)
	f.Var((*texts)(&s.options.Vars), "var", "Set a variable of the stack: `NAME=VALUE`; repeatable.")
	f.Var((*texts)(&s.options.Targets), "target", "Work only on the object at `ADDRESS` and its dependencies; repeatable.")
	f.Var((*texts)(&s.options.Excludes), "exclude", "Skip the object at `ADDRESS` and its dependents; repeatable.")
	f.Func("replace", "", func(string) error {
		return errors.New("workers don't replace by request: after a crash in the middle the result of a replacement would be unknown. Change a value that forces a replacement instead")
	})
	f.BoolVar(&s.alone, "alone", false, "Don't apply stacks that read published outputs.")
	f.IntVar(&s.parallelism, "parallelism", 4, "Limit concurrent deployments, with -on=local.")
}

func jsonFlag(f *flag.FlagSet, s *settings) {
	f.BoolVar(&s.json, "json", false, "Print a line of JSON for each change of a deployment and each finished stack.")
}

// said is a line for programs: where a deployment is, or what became of a stack.
type said struct {
	Type       string                  `json:"type"` // deployment or stack
	Stack      string                  `json:"stack"`
	Deployment string                  `json:"deployment,omitempty"`
	Request    string                  `json:"request"`
	Phase      rounds.Phase            `json:"phase,omitempty"`
	Round      int                     `json:"round,omitempty"`
	Plan       string                  `json:"plan,omitempty"` // its hash
	Planned    *counted                `json:"planned,omitempty"`
	Applied    *counted                `json:"applied,omitempty"` // in all rounds
	Against    []string                `json:"against,omitempty"` // why rules don't approve
	Doubts     []string                `json:"doubts,omitempty"`
	By         string                  `json:"by,omitempty"`
	Over       map[string]rounds.Phase `json:"over,omitempty"` // deployments
	Problem    string                  `json:"problem,omitempty"`
}

type counted struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
}

func (s *settings) say(a said) {
	if data, err := json.Marshal(a); err == nil {
		fmt.Fprintf(s.out, "%s\n", data)
	}
}

func (s *settings) sayStatus(st rounds.Status) {
	planned, applied := counted(st.Plan.Counts), counted(st.Applied)
	s.say(said{
		Type: "deployment", Stack: st.Stack, Deployment: st.Deployment, Request: st.Request, Phase: st.Phase, Round: max(st.Round, 1),
		Plan: st.Plan.Plan, Planned: &planned, Applied: &applied, Against: st.Plan.Against, Doubts: st.Plan.Doubts, By: st.By, Problem: st.Problem,
	})
}

func destroyStack(ctx context.Context, s *settings) error {
	s.options.Destroy = true
	return applyStack(ctx, s)
}

func applyStack(ctx context.Context, s *settings) error {
	if _, diags := work.Asked(s.options); diags.HasErrors() {
		return errors.New(work.Text(diags))
	}
	d, err := s.depot()
	if err != nil {
		return err
	}
	whole, upstreams, err := s.whole(ctx, d)
	if err != nil {
		return err
	}
	return s.request(ctx, d, whole, upstreams)
}

// request has something done, and follows that.
func (s *settings) request(ctx context.Context, d depot.Depot, whole rounds.Whole, upstreams []string) (err error) {
	whole.By = who()
	if err = work.Sign(ctx, d, &whole); err == nil {
		err = work.Note(ctx, d, who(), whole, upstreams)
	}
	switch {
	case errors.Is(err, work.ErrTaken):
		return fmt.Errorf("%s can't be applied: %w", whole.Stack, err)
	case err != nil:
		return fmt.Errorf("the store can't be used: %w. Is there a worker? See \"weir stacks worker -help\"", err)
	}
	if s.on == "local" {
		return s.local(ctx, d, whole)
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if n, err := flow.Workers(ctx, c); err == nil && n == 0 {
		fmt.Fprintf(s.err, "No worker has asked for work in the last minutes. The request waits until one does. To start one:\n    weir stacks worker\n")
	}
	if err := flow.Ask(ctx, c, whole); err != nil {
		return err
	}
	if s.detach && s.json {
		return nil
	}
	if s.detach {
		what := "deployments of the stack"
		if whole.States != "" {
			what = "roots of"
		}
		fmt.Fprintf(s.out, "Asked for %d %s %s. To see what becomes of them:\n    weir stacks follow -stack=%s\n", len(whole.Deployments), what, whole.Stack, whole.Stack)
		return nil
	}
	return s.following(ctx, c, d, whole)
}

// whole reads the stack in the directory, and puts its files into the store.
func (s *settings) whole(ctx context.Context, d depot.Depot) (w rounds.Whole, upstreams []string, err error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return w, nil, err
	}
	w = rounds.Whole{ID: uuid.NewString(), Stack: s.stack, Options: s.options, Alone: s.alone}
	if w.Stack == "" {
		w.Stack = work.Name(dir)
	}
	if !depot.Valid(w.Stack) || strings.HasPrefix(w.Stack, ".") {
		return w, nil, fmt.Errorf("%q can't be the name of a stack; give it one with -stack=NAME", w.Stack)
	}
	like, err := s.dialect()
	if err != nil {
		return w, nil, err
	}
	found, err := work.Look(ctx, dir, like, s.environ, s.home())
	if err != nil {
		return w, nil, err
	}
	if w.Deployments, err = choose(found.Stack.Stack, s.deployments, s.options.Destroy); err != nil {
		return w, nil, err
	}
	w.Publishes = len(found.Stack.Published) > 0
	for _, u := range found.Stack.Upstreams {
		upstreams = append(upstreams, work.Name(u.Source))
	}
	slices.Sort(upstreams)
	w.Bundle, err = s.upload(ctx, d, dir, found.Outside)
	return w, upstreams, err
}

// upload puts the files of a directory into the store, with the directories outside of it that it
// needs, and returns their hash.
func (s *settings) upload(ctx context.Context, d depot.Depot, dir string, outside []string) (hash string, err error) {
	bundle, err := work.Pack(dir, outside)
	if err == nil {
		hash, err = d.Put(ctx, bundle)
	}
	if err != nil {
		return "", fmt.Errorf("the files can't be put into the store: %w. Is there a worker? See \"weir stacks worker -help\"", err)
	}
	return hash, nil
}

// choose are the names of deployments that are meant. To destroy, also one that the
// files don't have any more.
func choose(stack *deploy.Stack, names []string, left bool) ([]string, error) {
	known := deploy.Names(stack.Deployments)
	if len(names) == 0 {
		if len(known) == 0 {
			return nil, errors.New("the deployment files have no deployment block, so there is nothing to apply")
		}
		return known, nil
	}
	for _, name := range names {
		if !slices.Contains(known, name) && !left {
			return nil, fmt.Errorf("there is no deployment named %q. The deployments of this stack are: %s", name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// local does it in this process.
func (s *settings) local(ctx context.Context, d depot.Depot, whole rounds.Whole) error {
	w, err := s.worker(d, s.err)
	if err != nil {
		return err
	}
	answers := bufio.NewScanner(s.in)
	l := &rounds.Local{Steps: w, Most: s.parallelism, Told: s.tells(map[string]rounds.Phase{})}
	l.Ask = func(st rounds.Status) (rounds.Decision, error) {
		said := s.ask(ctx, d, st, answers)
		return said, work.SignDecision(ctx, d, st.Asked(), &said)
	}
	ok := true
	for _, o := range l.Run(ctx, whole) {
		ok = s.sum(o) && ok
	}
	if !ok {
		return errTold
	}
	return nil
}

// ask asks a person about a deployment that waits.
func (s *settings) ask(ctx context.Context, d depot.Depot, st rounds.Status, answers *bufio.Scanner) rounds.Decision {
	said := rounds.Decision{Kind: rounds.Reject, Plan: st.Plan.Plan, Author: rounds.Author{By: who()}}
	if st.Phase == rounds.Doubtful {
		said.Kind, said.By = rounds.Cancel, "nobody, because objects are in doubt: "+strings.Join(st.Plan.Doubts, ", ")
		return said
	}
	s.showPlan(ctx, d, st)
	if !s.input || s.json {
		said.By = "nobody, because nobody can be asked"
		return said
	}
	fmt.Fprintf(s.out, "Apply this to %s? Only 'yes' will be accepted: ", st.Deployment)
	if answers.Scan() && answers.Text() == "yes" {
		said.Kind = rounds.Approve
	}
	return said
}

// tells is notified of statuses, and says what has changed.
func (s *settings) tells(before map[string]rounds.Phase) func(rounds.Status) {
	return func(st rounds.Status) {
		name := st.Stack + "/" + st.Deployment
		key := name + fmt.Sprint(st.Round, st.Request)
		if before[key] == st.Phase {
			return
		}
		before[key] = st.Phase
		if s.json {
			s.sayStatus(st)
			return
		}
		line := string(st.Phase)
		switch st.Phase {
		case rounds.Waiting, rounds.Applying:
			n := st.Plan.Counts
			line += fmt.Sprintf(": %d to add, %d to change, %d to destroy", n.Add, n.Change, n.Destroy)
		case rounds.Doubtful:
			line += ": " + strings.Join(st.Plan.Doubts, ", ")
		case rounds.Done:
			line += fmt.Sprintf(": %d added, %d changed, %d destroyed", st.Applied.Add, st.Applied.Change, st.Applied.Destroy)
		}
		if st.Phase.Over() && st.Problem != "" {
			line += ": " + st.Problem
		}
		fmt.Fprintf(s.out, "%s  round %d  %s\n", name, max(st.Round, 1), line)
	}
}

// sum says what became of a stack.
func (s *settings) sum(o rounds.Overview) bool {
	if s.json {
		s.say(said{Type: "stack", Stack: o.Stack, Request: o.Request, Over: o.Over, Problem: o.Problem})
		return o.OK()
	}
	count := map[rounds.Phase]int{}
	for _, p := range o.Over {
		count[p]++
	}
	var parts []string
	for _, p := range []rounds.Phase{rounds.Done, rounds.Failed, rounds.Rejected, rounds.Cancelled, rounds.Skipped} {
		if count[p] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[p], p))
		}
	}
	fmt.Fprintf(s.out, "%s: %s\n", o.Stack, strings.Join(parts, ", "))
	for _, line := range o.Lines {
		fmt.Fprintf(s.out, "%s: %s\n", o.Stack, line)
	}
	if o.Problem != "" {
		fmt.Fprintf(s.err, "\nError: %s\n", o.Problem)
	}
	return o.OK()
}

// showPlan shows the plan that a deployment waits with.
func (s *settings) showPlan(ctx context.Context, d depot.Depot, st rounds.Status) {
	if st.Plan.Text == "" || s.json {
		return
	}
	text, err := d.Get(ctx, st.Plan.Text)
	if err != nil {
		fmt.Fprintf(s.err, "The plan can't be shown: %s\n", err)
		return
	}
	fmt.Fprintf(s.out, "\nThe plan of %s (%s):\n\n%s\n", st.Deployment, short(st.Plan.Plan), text)
}

func short(hash string) string { return hash[:min(12, len(hash))] }

// following reports what happens until all is over, or until what isn't waits for people.
func (s *settings) following(ctx context.Context, c client.Client, d depot.Depot, whole rounds.Whole) error {
	tell := s.tells(map[string]rounds.Phase{})
	var shown []string
	for {
		list, err := flow.List(ctx, c, whole.Stack)
		if err != nil {
			return interrupted(ctx, whole.Stack, err)
		}
		waits, busy := 0, len(list) == 0
		for _, st := range list {
			if len(whole.Deployments) > 0 && !slices.Contains(whole.Deployments, st.Deployment) {
				continue
			}
			if whole.ID != "" && st.Request != whole.ID {
				// One that comes after others isn't busy while these wait for people.
				busy = busy || len(whole.After[st.Deployment]) == 0
				continue
			}
			tell(st)
			switch {
			case st.Phase == rounds.Waiting || st.Phase == rounds.Doubtful:
				waits++
				if key := st.Deployment + st.Plan.Plan; st.Phase == rounds.Waiting && !slices.Contains(shown, key) && len(shown) < 3 {
					shown = append(shown, key)
					s.showPlan(ctx, d, st)
				}
			case !st.Phase.Over():
				busy = true
			}
		}
		o, err := flow.Overview(ctx, c, whole.Stack)
		if err == nil && o.Ended && (whole.ID == "" || o.Request == whole.ID) {
			if !s.sum(o) {
				return errTold
			}
			return nil
		}
		if waits > 0 && !busy {
			if s.json {
				return errTold
			}
			fmt.Fprintf(s.out, "\n%d deployments wait. Look at them, and decide:\n    weir stacks list -stack=%s\n    weir stacks approve -stack=%s -deployment=NAME\n    weir stacks reject -stack=%s -deployment=NAME\n    weir stacks recover -on=temporal -stack=%s -deployment=NAME -help\n", waits, whole.Stack, whole.Stack, whole.Stack, whole.Stack)
			return errTold
		}
		select {
		case <-ctx.Done():
			return interrupted(ctx, whole.Stack, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// interrupted says that an interrupt ends only the following.
func interrupted(ctx context.Context, stack string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("nobody follows any more, and the deployments continue. To follow them again, or to cancel them:\n    weir stacks follow -stack=%[1]s\n    weir stacks cancel -stack=%[1]s", stack)
}
