package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/jsonwhy"
)

var whyCommand = &command{
	name: "why", args: "ADDRESS", min: 1, max: 1,
	synopsis: "Explain why a resource instance changes, is replaced, waits or is deferred",
	long:     "Makes a plan as the plan command does and follows the references from the object at ADDRESS to the input, the attribute or the rule that is the cause. ADDRESS may also be a resource with several instances, or a module: then everything below it that changes is explained. Nothing is changed.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var p planning
		p.planFlags.register(fs)
		p.state.register(fs)
		p.vars.register(fs)
		e.inputFlag(fs)
		fs.BoolVar(&e.view.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(ctx context.Context, args []string) int { return p.why(ctx, e, args[0], *asJSON) }
	},
}

func (p *planning) why(ctx context.Context, e *env, address string, asJSON bool) int {
	target, err := addr.ParseTarget(address)
	if err != nil {
		return e.fail("Invalid address", "%s.", err)
	}
	chosen, diags := p.choose()
	if diags.HasErrors() {
		return e.diags(diags)
	}
	w, diags := e.directory.Open(ctx, e.directory.Configuration(), p.opening(e, "why"))
	if e.diags(diags) != 0 {
		return 1
	}
	defer w.Unlock()
	made, list, diags := w.Explain(ctx, chosen, target)
	if made == nil || diags.HasErrors() {
		return e.diags(diags)
	}
	if len(list) == 0 {
		return e.fail("Nothing to explain", "The plan has no object at %s. Check the address; \"%s state list\" shows what there is, and the plan what would be.", target, e.program)
	}
	if !asJSON {
		return e.written(view.Why(e.out, list, e.viewing()))
	}
	text, err := jsonwhy.Marshal(list)
	if err != nil {
		return e.fail("Failed to marshal the explanation to json", "%s.", err)
	}
	e.say("%s\n", text)
	return 0
}
