package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonwhy"
	"weir.dev/weir/internal/workspace"
)

var whyCommand = &command{
	Name: "why", Args: "ADDRESS", Min: 1, Max: 1,
	Synopsis: "Explain why a resource instance changes, is replaced, waits or is deferred",
	Long:     "Plans as the plan command does. Then it follows references from the object at ADDRESS to the input, attribute or rule that causes its change. For a resource with several instances, or a module, it explains every change below. It changes nothing.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var p planning
		p.Plan.Register(fs)
		p.state.Register(fs)
		flags.Hide(fs, "backup", "state-out")
		p.vars.Register(fs)
		flags.Input(fs, &e.input)
		flags.Sensitive(fs, e.Screen)
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(ctx context.Context, args []string) int { return p.why(ctx, e, args[0], *asJSON) }
	},
}

func (p *planning) why(ctx context.Context, e *env, address string, asJSON bool) int {
	target, err := addr.ParsePattern(address)
	if err != nil {
		return e.Fail(diag.BadAddress, "%s.", err)
	}
	chosen, diags := p.Choose()
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	chosen.Explained = true
	w, made, diags := workspace.Plan{Dir: e.directory, Opening: p.opening(e, "why"), Options: chosen, Opened: e.warn}.Run(ctx)
	if w == nil {
		return e.Diags(diags)
	}
	defer w.Unlock()
	if made == nil || diags.HasErrors() {
		return e.Diags(diags)
	}
	list := w.Reasons.Of(made, target)
	if len(list) == 0 {
		return e.Fail(diag.NoInstance.As("Nothing to explain"), "The plan has no object at %s. Check the address; \"%s\" shows existing objects, and the plan shows new ones.", target, diag.Command{Program: e.program, Name: "state list"})
	}
	if !asJSON {
		return e.Written(view.Why(e.Out, list, e.Viewing()))
	}
	text, err := jsonwhy.Marshal(list)
	return e.Document(text, err, "the explanation")
}
