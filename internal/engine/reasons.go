package engine

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/state"
)

// Reasons tell why a plan deals as it does with its objects. They keep the evaluated
// configuration for that, so they are only for plans that somebody queries.
type Reasons struct {
	config *Config
	in     why.Input
	made   why.Explainer
}

// Reasons are those of the plan that is made with the options next.
func (c *Config) Reasons(o *PlanOptions) *Reasons {
	r := &Reasons{config: c, in: why.Input{Tree: c.Tree, Replace: o.Replace, Sources: map[string]why.Source{}}}
	for name, v := range c.Inputs {
		r.in.Sources[name] = why.Source{From: v.From, Range: v.Range}
	}
	o.Observe = func(root *eval.Frame) { r.in.Root = root }
	return r
}

// about begins to explain a plan; false where its reasons aren't known.
func (r *Reasons) about(p *plan.Plan) bool {
	if r == nil || r.in.Root == nil || p == nil {
		return false
	}
	if r.in.Plan != p {
		r.in.Plan, r.in.Edges = p, nil
		r.made = why.Begin(r.in)
	}
	return true
}

// Of explains the objects of a plan that the target names.
func (r *Reasons) Of(p *plan.Plan, target addr.Target) []why.Explanation {
	if !r.about(p) {
		return nil
	}
	if r.in.Edges == nil {
		r.in.Edges = Edges(r.config, p)
		r.made = why.Begin(r.in)
	}
	return r.made.Explain(target)
}

// Because is how one asks for the causes of one change of a plan, nil where they aren't
// known.
func (r *Reasons) Because(p *plan.Plan) func(*plan.Change) []why.Chain {
	if !r.about(p) {
		return nil
	}
	return r.made.Causes
}

// noted is of how many changes of a block that do the same the causes are noted.
const noted = 20

// Note puts the causes of a plan's changes into it, where they are known: of changes that a
// block makes in great numbers those of the first ones. Where all is new there is nothing to
// tell, and explaining isn't started.
func (r *Reasons) Note(p *plan.Plan) {
	old := func(c *plan.Change) bool {
		return c.Action != plan.NoOp && c.Action != plan.Create && c.Action != plan.Read
	}
	if p == nil || !slices.ContainsFunc(p.Changes, old) || !r.about(p) {
		return
	}
	type kind struct {
		block  addr.Resource
		action plan.Action
		reason plan.Reason
	}
	asked := map[kind]int{}
	for _, c := range p.Changes {
		k := kind{c.Addr.Resource.Erase(), c.Action, c.Reason}
		if asked[k]++; c.Action != plan.NoOp && asked[k] <= noted {
			c.Causes = append([]string{}, why.Origins(r.made.Causes(c))...)
		}
	}
}

// Explain makes a plan and reports why it deals as it does with the objects that the target
// names.
func Explain(ctx context.Context, c *Config, prior *state.Snapshot, o PlanOptions, target addr.Target) (*plan.Plan, []why.Explanation, diag.List) {
	r := c.Reasons(&o)
	p, diags := Plan(ctx, c, prior, o)
	return p, r.Of(p, target), diags
}
