package approvalpolicy

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/stack/deploy"
)

// PlannedAgain is that a rule has a deployment planned once more.
var PlannedAgain = diag.Code{Name: "planned-again", Summary: "Planned again by a rule"}

// most is how often rules have a deployment planned again in one run.
const most = 10

// Replan asks the rules of kind replan about what came of a plan or an apply. It names one
// that holds, if any does. Planning once more after a plan that went well and had nothing to
// do would give the same result.
func Replan(s *deploy.Stack, d *deploy.Deployment, o Outcome) (by string, diags diag.List) {
	if o.Plan == nil {
		o.Plan = &plan.Plan{Errored: true}
	}
	if o.OK && !o.Plan.HasChanges() {
		return "", nil
	}
	context := Context(s, d, o)
	for _, rule := range s.Legacy {
		if rule.Kind != "replan" {
			continue
		}
		v, more := s.Judge(rule, context)
		diags.Append(more)
		if len(v.Reasons) > 0 || more.HasErrors() {
			continue
		}
		if d.Replans >= most {
			diags.Add(PlannedAgain.As("Not planned again").Warning(rule.Range, "The rule %q would have the deployment %q planned again for the %dth time, which is too often: it ends here. A check such as context.plan.replans < 3 says how often is enough.", rule.Name, d.Name, most+1))
			return "", diags
		}
		return rule.Name, diags
	}
	return "", diags
}

// An Approver follows an apply of W, with limits L, that results in O, and decides about it.
type Approver[W, L, O any] interface {
	Opened(diag.List)
	Planned(ctx context.Context, w W, p *plan.Plan, found diag.List) (left diag.List, approved bool)
	Limits() (l L, ended func())
	Applied(p *plan.Plan, o O, found diag.List)
	Problem(diag.List)
	Again(round int)
}

// A Work may have objects in doubt, which somebody has to resolve before anything else.
type Work[D any] interface{ Doubts() []D }

// A Watch is an approver before another one, which remembers what came of the last plan.
type Watch[W Work[D], L, O, D any] struct {
	Approver[W, L, O]
	Stack      *deploy.Stack
	Deployment *deploy.Deployment
	// Once: no rule is asked.
	Once bool
	// Ends are problems that say that people don't want more.
	Ends []diag.Code

	work W
	last Outcome
	over bool // nothing comes after it, whatever rules say
}

// Planned implements Approver.
func (w *Watch[W, L, O, D]) Planned(ctx context.Context, work W, p *plan.Plan, found diag.List) (diag.List, bool) {
	failed := p == nil || found.HasErrors()
	w.work, w.last = work, Outcome{Plan: p, Found: found}
	left, approved := w.Approver.Planned(ctx, work, p, found)
	w.over = ctx.Err() != nil || !approved && !failed || w.ends(found)
	return left, approved
}

// Applied implements Approver.
func (w *Watch[W, L, O, D]) Applied(p *plan.Plan, o O, found diag.List) {
	w.last.Applied = true
	w.last.Found = append(w.last.Found, found...)
	w.over = w.over || len(w.work.Doubts()) > 0 || w.ends(found)
	w.Approver.Applied(p, o, found)
}

func (w *Watch[W, L, O, D]) ends(found diag.List) bool {
	return slices.ContainsFunc(w.Ends, func(c diag.Code) bool { return slices.ContainsFunc(found, c.Is) })
}

// Problem implements Approver.
func (w *Watch[W, L, O, D]) Problem(l diag.List) {
	w.last.Found = append(w.last.Found, l...)
	w.Approver.Problem(l)
}

// Until applies, and once more as long as a rule says so. It reports what the last apply
// has reported.
func (w *Watch[W, L, O, D]) Until(apply func() bool) bool {
	for {
		w.last, w.over = Outcome{}, true // there may be nothing to look at
		w.last.OK = apply()
		if w.over || w.Once {
			return w.last.OK
		}
		by, diags := Replan(w.Stack, w.Deployment, w.last)
		if by != "" {
			w.Deployment.Replans++
			diags.Add(PlannedAgain.New(diag.Warning, "The rule %q has the deployment %q planned again. Times so far: %d.", by, w.Deployment.Name, w.Deployment.Replans))
		}
		w.Approver.Problem(diags)
		if by == "" {
			return w.last.OK && !diags.HasErrors()
		}
	}
}
