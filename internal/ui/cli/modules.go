package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
)

var getCommand = &command{
	Name:     "get",
	Synopsis: "Install or upgrade remote modules",
	Long:     "Runs the part of init that installs modules.",
	JSON:     output.Messages,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		update := fs.Bool("update", false, "Fetch installed modules again.")
		e.registerTests(fs)
		return func(ctx context.Context, _ []string) int {
			inputs, diags := e.directory.Place.Inputs(vars)
			if diags.HasErrors() {
				return e.Diags(diags)
			}
			if stop := e.directory.CheckMode(ctx); stop.HasErrors() { // registries differ
				return e.Diags(stop)
			}
			_, more := e.directory.LoadModules(ctx, inputs, e.tests, true, *update, func(line string) { e.Say("%s\n", line) })
			diags.Append(more)
			return e.Diags(diags)
		}
	},
}

var modulesCommand = &command{
	Name:     "modules",
	Synopsis: "Show all declared modules in a working directory",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		var vars flags.Vars
		vars.Register(fs)
		return func(ctx context.Context, _ []string) int { return e.modules(ctx, vars, *asJSON) }
	},
}

func (e *env) modules(ctx context.Context, vars flags.Vars, asJSON bool) int {
	config, diags := e.directory.Load(ctx, workspace.Loading{Vars: vars})
	if e.Diags(diags) != 0 {
		return 1
	}
	list := view.Modules(config.Tree)
	if asJSON {
		return e.PrintJSON(struct {
			FormatVersion string        `json:"format_version"`
			Modules       []view.Module `json:"modules"`
		}{"1.0", list})
	}
	return e.Written(view.WriteModules(e.Out, list))
}
