package approvalpolicy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/stack/deploy"
)

var (
	broken  = diag.Code{Name: "broken", Summary: "Broken"}
	stopped = diag.Code{Name: "stopped", Summary: "Stopped"}
)

// work has so many objects in doubt.
type work int

func (w work) Doubts() []string { return make([]string, w) }

// audience is an approver that people don't see, who approve or don't.
type audience struct {
	lines    []string
	approved bool
}

func (*audience) Opened(diag.List) {}
func (t *audience) Planned(_ context.Context, _ work, p *plan.Plan, found diag.List) (diag.List, bool) {
	return nil, t.approved && p != nil && !found.HasErrors()
}
func (*audience) Limits() (int, func())               { return 0, func() {} }
func (*audience) Applied(*plan.Plan, bool, diag.List) {}
func (*audience) Again(int)                           {}
func (t *audience) Problem(l diag.List) {
	for _, d := range l {
		t.lines = append(t.lines, d.Summary)
	}
}

// A try is what comes of one plan and its apply.
type try struct {
	unplanned, refused, fails bool
	changes, doubts           int
	found                     diag.Code
}

// TestReplan: rules are queried what failed and what changed something, until they say no,
// somebody has had enough, or there have been ten.
func TestReplan(t *testing.T) {
	rule := func(condition string) string {
		return `deployment "dev" {}
orchestrate "auto_approve" "all" {
  check {
    condition = true
    reason    = ""
  }
}
orchestrate "replan" "r" {
  check {
    condition = ` + condition + `
    reason    = "No."
  }
}
`
	}
	failing := try{changes: 1, fails: true, found: broken}
	for _, test := range []struct {
		name, condition string
		tries           []try
		once            bool
		want            string
	}{
		{"well", "!context.success", []try{{changes: 1}}, false, "1 true "},
		{"after a failure", "!context.success && context.plan.replans < 3", []try{failing, {changes: 1}}, false, "2 true Planned again by a rule"},
		{"as often as it says", "!context.success && context.plan.replans < 2", []try{failing, failing, failing, failing}, false, "3 false Planned again by a rule; Planned again by a rule"},
		{"what failed", `context.operation == "apply" && context.errors[0].summary == "Broken" && context.plan.applyable`, []try{failing, {}}, false, "2 true Planned again by a rule"},
		{"no plan", `context.operation == "plan" && !context.plan.applyable`, []try{{unplanned: true, found: broken}, {}}, false, "2 true Planned again by a rule"},
		{"a second look", "context.success", []try{{changes: 1}, {}}, false, "2 true Planned again by a rule"},
		{"people said no", "true", []try{{changes: 1, refused: true}}, false, "1 false "},
		{"people stopped it", "true", []try{{changes: 1, fails: true, found: stopped}}, false, "1 false "},
		{"in doubt", "true", []try{{changes: 1, fails: true, found: broken, doubts: 1}}, false, "1 false "},
		{"not opened", "true", []try{{fails: true}}, false, "1 false "},
		{"to be replaced", "true", []try{failing}, true, "1 false "},
		{"for ever", "true", []try{failing}, false, "11 false " + strings.Repeat("Planned again by a rule; ", 10) + "Not planned again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, diags := deploy.Load(module.Memory{"a.tfdeploy.hcl": []byte(rule(test.condition))}, ".")
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			a := &audience{}
			w := &Watch[work, int, bool, string]{Approver: a, Stack: s, Deployment: s.Deployments[0], Once: test.once, Ends: []diag.Code{stopped}}
			i := 0
			done := w.Until(func() bool {
				one := test.tries[min(i, len(test.tries)-1)]
				i++
				return one.apply(w, a)
			})
			if got := fmt.Sprint(i, done, " ", strings.Join(a.lines, "; ")); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// apply is what an apply reports an approver.
func (one try) apply(w *Watch[work, int, bool, string], a *audience) bool {
	var found diag.List
	if one.found.Name != "" {
		found = one.found.List("Something.")
	}
	if one.fails && one.changes == 0 {
		w.Problem(broken.List("Not opened."))
		a.lines = nil
		return false
	}
	a.approved = !one.refused
	if one.unplanned {
		w.Planned(context.Background(), 0, nil, found)
		return false
	}
	p := &plan.Plan{}
	for range one.changes {
		i, _ := addr.ParseInstance("component.a.sim_object.o")
		p.Changes = append(p.Changes, &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: plan.Create})
	}
	if _, approved := w.Planned(context.Background(), work(one.doubts), p, nil); !approved {
		return false
	}
	w.Applied(p, !one.fails, found)
	return !one.fails
}
