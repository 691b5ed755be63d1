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
	Long:     "Lists existing objects with the list blocks in .tfquery.hcl files beside the configuration. It can write configuration to import them. It changes neither the state nor any object.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		commands.RegisterJSON(fs, e.Screen)
		out := fs.String("generate-config-out", "", "Write resource and import blocks for found objects to a new file `PATH`.")
		return func(ctx context.Context, _ []string) int { return e.query(ctx, vars, *out) }
	},
}

func (e *env) query(ctx context.Context, vars flags.Vars, out string) int {
	if code := e.Start(); code != 0 {
		return code
	}
	listings, diags := workspace.Query{Dir: e.directory, Loading: workspace.Loading{Vars: vars, Sink: e.Sink(), Ask: e.asker()}, Generate: out}.Run(ctx)
	if !e.JSON {
		e.Written(view.Listings(e.Out, listings, e.Viewing()))
	}
	return e.Diags(diags)
}
