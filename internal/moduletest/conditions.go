package moduletest

import (
	"context"
	"weir.dev/weir/internal/moduletest/testresult"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// conditions are the asserts of a run, compiled for its configuration.
type conditions struct {
	list []*program.Condition
	// given is what they may refer to beside the module.
	given map[string]cty.Value
}

func compile(r *testresult.Run, config *engine.Config, v *values) (conditions, diag.List) {
	var exprs []hcl.Expression
	for _, a := range r.Asserts {
		exprs = append(exprs, a.Condition, a.ErrorMessage)
	}
	c := conditions{given: map[string]cty.Value{"run": v.runs(exprs...), "var": cty.ObjectVal(v.vars)}}
	var diags diag.List
	known := func(name string) bool { _, ok := v.vars[name]; return ok }
	v.judging = true
	for _, a := range r.Asserts {
		diags.Append(v.check(a.Condition))
		diags.Append(v.check(a.ErrorMessage))
		compiled, more := compiler.TestCondition(config.Tree.Program, a.Condition, a.ErrorMessage, known)
		diags.Append(more)
		c.list = append(c.list, compiled)
	}
	return c, diags
}

// A judgement is what came of conditions.
type judgement struct {
	outcomes []engine.Assessed
	list     []*program.Condition
	diags    diag.List
}

// observe judges a plan before its providers end.
func (c conditions) observe(j *judgement) func(*eval.Frame) {
	return func(root *eval.Frame) {
		j.list, j.outcomes = c.list, engine.Assess(root, c.list, c.given)
	}
}

// judge judges a state.
func (c conditions) judge(ctx context.Context, config *engine.Config, s *state.Snapshot) *judgement {
	j := &judgement{list: c.list}
	if len(c.list) == 0 {
		return j
	}
	k, diags := engine.NewConsole(ctx, config, s)
	if diags.HasErrors() {
		j.diags = diags
		return j
	}
	defer k.Close()
	j.outcomes, j.diags = k.Assess(c.list, c.given)
	return j
}

// into notes the judgement with the run.
func (j *judgement) into(r *testresult.Run) {
	r.Worsen(testresult.Pass)
	r.Diags.Append(j.diags)
	if j.diags.HasErrors() {
		r.Worsen(testresult.Error)
	}
	for i, o := range j.outcomes {
		c := j.list[i]
		r.Diags.Append(o.Diags)
		switch o.Status {
		case eval.Fail:
			r.Diags.Add(o.Problem(Asserted, c))
			r.Worsen(testresult.Fail)
			if o.Diags.HasErrors() {
				r.Worsen(testresult.Error)
			}
		case eval.Unknown:
			problem := o.Problem(diag.BadCondition.As("Unknown condition value"), c)
			problem.Detail = "Condition expression could not be evaluated at this time: it depends on something that is known only after the plan has been applied. Leave that out of the condition, or apply the plan in this run."
			r.Diags.Add(problem)
			r.Worsen(testresult.Error)
		case eval.Failed:
			r.Worsen(testresult.Error)
		}
	}
}

// plannedOutputs are the outputs of a run that was only planned.
func plannedOutputs(c *engine.Config, p *plan.Plan) cty.Value {
	all := map[string]cty.Value{}
	for _, o := range p.Outputs {
		if o.Action != plan.Delete && o.After != cty.NilVal {
			all[o.Name] = sensitive(o.After, o.Sensitive)
		}
	}
	return outputs(c, all)
}

// storedOutputs are those that a state has.
func storedOutputs(c *engine.Config, s *state.Snapshot) cty.Value {
	all := map[string]cty.Value{}
	for name, o := range s.Outputs {
		all[name] = sensitive(o.Value, o.Sensitive)
	}
	return outputs(c, all)
}

func sensitive(v cty.Value, is bool) cty.Value {
	if is {
		return v.Mark(value.Sensitive)
	}
	return v
}

// outputs is the object of all outputs; those that nothing is known of are null.
func outputs(c *engine.Config, all map[string]cty.Value) cty.Value {
	for _, o := range c.Tree.Program.Outputs {
		if _, ok := all[o.Name]; !ok {
			all[o.Name] = cty.NullVal(cty.DynamicPseudoType)
		}
	}
	return cty.ObjectVal(all)
}

func hasManaged(s *state.Snapshot) bool {
	if s == nil {
		return false
	}
	for a := range s.Objects {
		if a.Name.Mode == addr.Managed {
			return true
		}
	}
	return false
}
