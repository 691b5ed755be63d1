package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
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
	listings, diags := e.directory.Query(ctx, workspace.Loading{Vars: vars, Sink: e.Sink(), Ask: e.asker()}, out)
	if !e.JSON {
		e.Written(view.Listings(e.Out, listings, e.Viewing()))
	}
	return e.Diags(diags)
}
