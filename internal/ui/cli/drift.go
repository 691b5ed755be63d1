package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

var driftCommand = &command{
	Name:     "drift",
	Synopsis: "Show objects that were changed outside",
	Long:     "Compares the objects of the state with the real ones. It takes no lock and changes neither objects nor the state. It exits with 0 without drift, 2 with drift, and 1 after an error. With -all it works on all root modules below the directory.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var p planning
		p.RefreshOnly = true
		p.vars.Register(fs)
		flags.Stream(fs, e.Screen)
		flags.Input(fs, &e.input)
		p.RegisterScope(fs, "Work on")
		flags.Parallelism(fs, &p.Parallelism)
		p.roots.registerAll(fs)
		return func(ctx context.Context, _ []string) int {
			if p.roots.chosen() {
				return p.driftAll(ctx, e)
			}
			if code := e.Start(); code != 0 {
				return code
			}
			options, diags := p.options(e, "drift")
			if diags.HasErrors() {
				return e.Diags(diags)
			}
			_, code := e.drift(ctx, p.opening(e, "drift"), options)
			return code
		}
	},
}

// driftAll shows the drift of all roots that are chosen.
func (p *planning) driftAll(ctx context.Context, e *env) int {
	t, code := p.together(ctx, e)
	if code != 0 {
		return code
	}
	return t.each(true, func(one *env, i int) int {
		options, opening, diags := t.options(p, one, i, "drift")
		if diags.HasErrors() {
			return one.Diags(diags)
		}
		made, code := one.drift(ctx, opening, options)
		if made != nil {
			t.sums[i].Drift, t.sums[i].Drifted = true, len(made.Drift)
		}
		return code
	})
}

// drift shows what was changed outside. The exit code says whether anything was.
func (e *env) drift(ctx context.Context, o workspace.Opening, p planoptions.Planning) (*plan.Plan, int) {
	made, diags := workspace.Drift{Dir: e.directory, Opening: o, Options: p}.Run(ctx)
	if made != nil && !made.Errored {
		if e.Stream != nil {
			e.Stream.Plan(made)
		}
		if !e.JSON {
			e.Written(e.Plan(made))
		}
	}
	if e.Diags(diags) != 0 {
		return nil, 1
	}
	if len(made.Drift) > 0 {
		return made, exitChanges
	}
	return made, 0
}
