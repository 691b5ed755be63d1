package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/front/commands"
	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/view"
	"weir.dev/weir/internal/operation"
)

var queryCommand = &command{
	Name:     "query",
	Synopsis: "Find existing objects, managed or not",
	Long:     "Asks providers which objects exist, as the list blocks of the .tfquery.hcl files beside the configuration say, and can write configuration to import them. Neither the state nor anything that exists is changed.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		commands.RegisterJSON(fs, e.Screen)
		out := fs.String("generate-config-out", "", "Write resource and import blocks for what is found to a new file at `PATH`.")
		return func(ctx context.Context, _ []string) int { return e.query(ctx, vars, *out) }
	},
}

func (e *env) query(ctx context.Context, vars flags.Vars, out string) int {
	if code := e.Start(); code != 0 {
		return code
	}
	listings, diags := e.directory.Query(ctx, operation.Loading{Vars: vars, Sink: e.Sink(), Ask: e.asker()}, out)
	if !e.JSON {
		e.Written(view.Listings(e.Out, listings, e.Viewing()))
	}
	return e.Diags(diags)
}
