package planner

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/instance"
)

// outcomes gathers what is known of conditions once everything is evaluated.
type outcomes struct {
	mode      plan.Mode
	layout    *layout
	selection *selection
	checks    *checkresults.Set
	lacking   bool // an object is missing that outputs may read
}

// gather collects the outcomes of conditions that evaluation has computed, and declares
// the objects whose conditions had no instance. Anything that wasn't evaluated, because of
// -target or an error, isn't known to hold.
func (o *outcomes) gather(failed bool) {
	if o.mode != plan.Destroy {
		for _, f := range o.layout.root.Frames() {
			o.module(f)
		}
	} else if o.selection.Whole() {
		for _, output := range o.layout.tree.Program.Outputs {
			if len(output.Preconditions) > 0 {
				o.checks.Unevaluated(checkresults.In(o.layout.root, "output_value", "output."+output.Name))
			}
		}
	}
	declare := o.checks.Declare
	if failed || !o.selection.Whole() || o.mode == plan.Destroy {
		declare = o.checks.Unexpanded
	}
	for _, c := range o.layout.tree.Checkables() {
		declare(c.Kind, c.Address)
	}
}

// module collects what is known of the conditions in a module instance.
// Those in declarations that the plan leaves out have no instances.
func (o *outcomes) module(f *eval.Frame) {
	tree := o.layout.tree.At(f.Addr)
	add := func(declaration any, kind, name string, conditions int, outcomes []eval.Outcome) {
		switch {
		case conditions == 0 || !o.selection.Covers(refgraph.Site{Tree: tree, Declaration: declaration}):
		case outcomes != nil:
			o.checks.Add(checkresults.In(f, kind, name), conditions, outcomes)
		default:
			o.checks.Unevaluated(checkresults.In(f, kind, name))
		}
	}
	p := f.Program
	for _, observer := range p.Observers {
		if own := observer.Own(); own != nil && o.selection.IsPart() {
			add(own, string(observer.Head().Kind), observer.Head().Name, 1, nil)
		}
	}
	for _, v := range p.Variables {
		add(v, "input_variable", "var."+v.Name, len(v.Validations), f.VariableOutcomes(v))
	}
	for _, output := range p.Outputs {
		if outcomes := f.OutputOutcomes(output); o.lacking && slices.ContainsFunc(outcomes, eval.Outcome.Missing) {
			add(output, "output_value", "output."+output.Name, len(output.Preconditions), nil)
			continue
		}
		add(output, "output_value", "output."+output.Name, len(output.Preconditions), f.OutputOutcomes(output))
	}
	for _, res := range p.Resources {
		if len(res.Preconditions)+len(res.Postconditions) > 0 && (o.selection.Covers(refgraph.Site{Tree: tree, Declaration: res})) {
			o.resource(f, res)
		}
	}
}

// resource notes what isn't known of a resource's conditions.
func (o *outcomes) resource(f *eval.Frame, res *program.Resource) {
	block := checkresults.In(f, "resource", res.Name.String())
	o.checks.Declare(block.Kind, block.Address)
	if _, _, known := f.Lookup(res, addr.NoKey); !known {
		o.checks.Unevaluated(block)
	}
	for _, i := range f.Expanded(res) {
		o.checks.Unevaluated(instance.Checked(i))
	}
}
