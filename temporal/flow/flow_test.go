package flow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"weir.dev/weir/temporal/rounds"
)

// steps stands in for the work: what each step results in, in the order in which they are
// made.
type steps struct {
	plans   []rounds.Planned
	applies []rounds.Applied
	settles []string
	done    []string
	slow    bool // the apply lasts until it is cancelled
}

func take[T any](list *[]T) (v T, err error) {
	if len(*list) == 0 {
		return v, errors.New("there was no such step to come")
	}
	v = (*list)[0]
	*list = (*list)[1:]
	return v, nil
}

func (s *steps) Plan(context.Context, rounds.Request) (rounds.Planned, error) {
	s.done = append(s.done, "plan")
	return take(&s.plans)
}

func (s *steps) Apply(ctx context.Context, _ rounds.Request, p rounds.Planned, again bool) (rounds.Applied, error) {
	by := ""
	if p.Approval != nil && p.Approval.Plan == p.Plan {
		by = " by " + p.Approval.By
	}
	s.done = append(s.done, "apply "+p.Plan+by)
	if again {
		s.done = append(s.done, "again")
	}
	if s.slow {
		<-ctx.Done()
		return rounds.Applied{Problem: "interrupted"}, nil
	}
	return take(&s.applies)
}

// Check lets forged decisions be ignored.
func (s *steps) Check(_ context.Context, r rounds.Request, said rounds.Decision) (string, error) {
	if r.ID == "" {
		return "", errors.New("a decision is checked without its request")
	}
	if said.Signature == "forged" {
		return "it isn't signed", nil
	}
	return "", nil
}

func (s *steps) Settle(_ context.Context, _ rounds.Request, said rounds.Decision) (string, error) {
	s.done = append(s.done, "settle "+strings.Join(said.Forget, ","))
	return take(&s.settles)
}

func (s *steps) Publish(context.Context, rounds.Whole) (rounds.Published, error) {
	s.done = append(s.done, "publish")
	return rounds.Published{Changed: true, Readers: []string{"app", "net"}}, nil
}

func (s *steps) Last(context.Context, string, string, []string) (rounds.Whole, error) {
	return rounds.Whole{}, nil
}

var me, forger = rounds.Author{By: "me"}, rounds.Author{By: "forger", Signature: "forged"}

const plan1, plan2 = "11111111aaaa", "22222222bbbb"

// deployment runs the workflow of a deployment with one request; say is reported when it
// waits.
func deployment(t *testing.T, s *steps, r rounds.Request, say map[time.Duration]rounds.Decision) rounds.Status {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	Register(env, s, nil)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(requestSignal, r) }, time.Second)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(requestSignal, r) }, 2*time.Second) // it came twice
	for after, d := range say {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(decisionSignal, d) }, after)
	}
	env.RegisterDelayedCallback(env.CancelWorkflow, 24*time.Hour)
	var got rounds.Status
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(statusQuery)
		if err == nil {
			err = v.Get(&got)
		}
		if err != nil {
			t.Error(err)
		}
	}, 23*time.Hour)
	env.OnSignalExternalWorkflow(mock.Anything, "parent", "", overSignal, mock.Anything).Return(nil).Maybe()
	r.Parent = "parent"
	env.ExecuteWorkflow(Deployment, Carried{})
	return got
}

// TestDeployment has the ways of a deployment through its rounds.
func TestDeployment(t *testing.T) {
	planned := func(id string) rounds.Planned { return rounds.Planned{Plan: id, Counts: rounds.Counts{Add: 1}} }
	ruled := planned(plan1)
	ruled.Approved, ruled.By = true, "rule"
	for name, test := range map[string]struct {
		steps steps
		auto  bool
		say   map[time.Duration]rounds.Decision
		phase rounds.Phase
		done  string
		round int
	}{
		"nothing to do":         {steps{plans: []rounds.Planned{{}}}, false, nil, rounds.Done, "plan", 1},
		"without a question":    {steps{plans: []rounds.Planned{planned(plan1)}, applies: []rounds.Applied{{}}}, true, nil, rounds.Done, "plan; apply " + plan1, 1},
		"by a rule":             {steps{plans: []rounds.Planned{ruled}, applies: []rounds.Applied{{}}}, false, nil, rounds.Done, "plan; apply " + plan1, 1},
		"put off":               {steps{plans: []rounds.Planned{planned(plan1), planned(plan2)}, applies: []rounds.Applied{{Deferred: 1}, {}}}, true, nil, rounds.Done, "plan; apply " + plan1 + "; plan; apply " + plan2, 2},
		"put off for good":      {steps{plans: []rounds.Planned{{Deferred: 1}}}, true, nil, rounds.Failed, "plan", 1},
		"a mistake":             {steps{plans: []rounds.Planned{{Problem: "no"}}}, true, nil, rounds.Failed, "plan", 1},
		"by a rule once more":   {steps{plans: []rounds.Planned{{Problem: "no", Replan: "r"}, planned(plan1), planned(plan2)}, applies: []rounds.Applied{{Problem: "no", Replan: "r"}, {}}}, true, nil, rounds.Done, "plan; plan; apply " + plan1 + "; plan; apply " + plan2, 3},
		"another plan by then":  {steps{plans: []rounds.Planned{planned(plan1), planned(plan2)}, applies: []rounds.Applied{{Stale: true}, {}}}, true, nil, rounds.Done, "plan; apply " + plan1 + "; plan; apply " + plan2, 2},
		"approved after days":   {steps{plans: []rounds.Planned{planned(plan1)}, applies: []rounds.Applied{{}}}, false, map[time.Duration]rounds.Decision{20 * time.Hour: {Kind: rounds.Approve, Author: me, Plan: plan1}}, rounds.Done, "plan; apply " + plan1 + " by me", 1},
		"approved another plan": {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: me, Plan: plan2}}, rounds.Waiting, "plan", 1},
		"approved a part of it": {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: me, Plan: plan1[:8]}}, rounds.Waiting, "plan", 1},
		"approved nothing":      {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: me}}, rounds.Waiting, "plan", 1},
		"forged approval":       {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: forger, Plan: plan1}}, rounds.Waiting, "plan", 1},
		"forged rejection":      {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Reject, Author: forger}}, rounds.Waiting, "plan", 1},
		"forged end":            {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Cancel, Author: forger}}, rounds.Waiting, "plan", 1},
		"forged settlement": {steps{plans: []rounds.Planned{{Doubts: []string{"x.y"}}}}, true,
			map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Recover, Author: forger, Settlement: rounds.Settlement{ForgetAll: true}}}, rounds.Doubtful, "plan", 0},
		"the same plan after recover": {steps{plans: []rounds.Planned{planned(plan1), {Doubts: []string{"x.y"}}, planned(plan1)}, settles: []string{""}, applies: []rounds.Applied{{Doubts: []string{"x.y"}}, {}}}, false,
			map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: me, Plan: plan1}, 2 * time.Hour: {Kind: rounds.Recover, Author: me, Settlement: rounds.Settlement{ForgetAll: true}}},
			rounds.Done, "plan; apply " + plan1 + " by me; plan; settle ; plan; apply " + plan1 + " by me", 2},
		"another plan after recover": {steps{plans: []rounds.Planned{planned(plan1), {Doubts: []string{"x.y"}}, planned(plan2)}, settles: []string{""}, applies: []rounds.Applied{{Doubts: []string{"x.y"}}}}, false,
			map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: me, Plan: plan1}, 2 * time.Hour: {Kind: rounds.Recover, Author: me, Settlement: rounds.Settlement{ForgetAll: true}}},
			rounds.Waiting, "plan; apply " + plan1 + " by me; plan; settle ; plan", 2},
		"the same plan once it is stale": {steps{plans: []rounds.Planned{planned(plan1), planned(plan1)}, applies: []rounds.Applied{{Stale: true}}}, false,
			map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Approve, Author: me, Plan: plan1}}, rounds.Waiting, "plan; apply " + plan1 + " by me; plan", 2},
		"rejected":  {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Reject, Author: me}}, rounds.Rejected, "plan", 1},
		"cancelled": {steps{plans: []rounds.Planned{planned(plan1)}}, false, map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Cancel, Author: me}}, rounds.Cancelled, "plan", 1},
		"in doubt": {steps{plans: []rounds.Planned{{Doubts: []string{"x.y"}}, planned(plan1)}, settles: []string{"not so", ""}, applies: []rounds.Applied{{}}}, true,
			map[time.Duration]rounds.Decision{time.Hour: {Kind: rounds.Recover, Settlement: rounds.Settlement{Forget: []string{"a"}}}, 2 * time.Hour: {Kind: rounds.Recover, Settlement: rounds.Settlement{Forget: []string{"x.y"}}}},
			rounds.Done, "plan; settle a; settle x.y; plan; apply " + plan1, 1},
		"in doubt after a kill": {steps{plans: []rounds.Planned{planned(plan1), {Doubts: []string{"x.y"}}}, applies: []rounds.Applied{{Doubts: []string{"x.y"}}}}, true, nil, rounds.Doubtful, "plan; apply " + plan1 + "; plan", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.steps
			got := deployment(t, &s, rounds.Request{ID: "1", Stack: "net", Deployment: "one", Options: rounds.Options{AutoApprove: test.auto}}, test.say)
			if got.Phase != test.phase || got.Round != test.round {
				t.Errorf("it is %s in round %d: %+v", got.Phase, got.Round, got)
			}
			if done := strings.Join(s.done, "; "); done != test.done {
				t.Errorf("done was %q", done)
			}
		})
	}
}

// TestCancelApply: an apply that is under way ends when somebody says so.
func TestCancelApply(t *testing.T) {
	s := &steps{plans: []rounds.Planned{{Plan: plan1}}, slow: true}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	Register(env, s, nil)
	env.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if i.ActivityType.Name == "Apply" {
			env.SignalWorkflow(decisionSignal, rounds.Decision{Kind: rounds.Cancel, Author: me})
		}
	})
	var got rounds.Status
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(requestSignal, rounds.Request{ID: "1", Options: rounds.Options{AutoApprove: true}})
	}, time.Second)
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(statusQuery)
		if err == nil {
			err = v.Get(&got)
		}
		if err != nil {
			t.Error(err)
		}
		env.CancelWorkflow()
	}, time.Hour)
	env.ExecuteWorkflow(Deployment, Carried{})
	if got.Phase != rounds.Cancelled {
		t.Errorf("it is %+v", got)
	}
}

// TestStack: deployments begin together, outputs are published once all are over, and
// those that read them follow, but none that led to it.
func TestStack(t *testing.T) {
	s := &steps{}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	Register(env, s, nil)
	var begun []rounds.Request
	env.OnActivity("Begin", mock.Anything, mock.Anything).Return(func(_ context.Context, list []rounds.Request) error {
		begun = append(begun, list...)
		return nil
	})
	var followed []string
	env.OnActivity("Follow", mock.Anything, mock.Anything, mock.Anything).Return(func(_ context.Context, stack string, via []string) (string, error) {
		followed = append(followed, stack+" via "+strings.Join(via, ","))
		return "", nil
	})
	w := rounds.Whole{ID: "1", Stack: "net", Deployments: []string{"one", "two"}, Publishes: true}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(requestSignal, w) }, time.Second)
	for i, name := range []string{"two", "two", "one"} {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(overSignal, rounds.Status{Request: "1", Deployment: name, Phase: rounds.Done, Changed: true})
		}, time.Duration(i+1)*time.Hour)
	}
	var got rounds.Overview
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(statusQuery)
		if err == nil {
			err = v.Get(&got)
		}
		if err != nil {
			t.Error(err)
		}
		env.CancelWorkflow()
	}, 10*time.Hour)
	env.ExecuteWorkflow(Stack, Waiting{})
	if len(begun) != 2 || begun[0].Parent == "" || strings.Join(s.done, "; ") != "publish" {
		t.Errorf("begun %+v, done %v", begun, s.done)
	}
	if strings.Join(followed, "; ") != "app via net" {
		t.Errorf("followed %v", followed)
	}
	if !got.Ended || !strings.Contains(got.Problem, "circle") {
		t.Errorf("it came to %+v", got)
	}
}

// TestOrder: roots begin when those before them are done. One that comes after a failure is skipped,
// and all others are done.
func TestOrder(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	Register(env, &steps{}, nil)
	var begun []string
	env.OnActivity("Begin", mock.Anything, mock.Anything).Return(func(_ context.Context, list []rounds.Request) error {
		var names []string
		for _, r := range list {
			names = append(names, r.Deployment)
			phase := rounds.Done
			if r.Deployment == "cluster" {
				phase = rounds.Failed
			}
			env.RegisterDelayedCallback(func() {
				env.SignalWorkflow(overSignal, rounds.Status{Request: "1", Deployment: r.Deployment, Phase: phase})
			}, time.Hour)
		}
		begun = append(begun, strings.Join(names, "+"))
		return nil
	})
	w := rounds.Whole{
		ID: "1", Stack: "estate", States: "http://store/states/", Deployments: []string{"web", "net", "alone", "cluster", "dns"},
		After: map[string][]string{"cluster": {"net"}, "web": {"cluster"}, "dns": {"net"}},
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(requestSignal, w) }, time.Second)
	var got rounds.Overview
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(statusQuery)
		if err == nil {
			err = v.Get(&got)
		}
		if err != nil {
			t.Error(err)
		}
		env.CancelWorkflow()
	}, 10*time.Hour)
	env.ExecuteWorkflow(Stack, Waiting{})
	if text := strings.Join(begun, " "); text != "net+alone cluster+dns" {
		t.Errorf("begun %s", text)
	}
	if !got.Ended || got.OK() || got.Over["web"] != rounds.Skipped || got.Over["dns"] != rounds.Done {
		t.Errorf("it came to %+v", got)
	}
}
