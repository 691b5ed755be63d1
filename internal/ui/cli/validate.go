package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/lang/lint"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/workspace"
)

var validateCommand = &command{
	Name:     "validate",
	Synopsis: "Check whether the configuration is valid",
	Long:     "Checks the configuration with the schemas of its providers. It reads neither the state nor real objects.",
	JSON:     output.Verdict,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		e.registerTests(fs)
		untested := fs.Bool("no-tests", false, "Don't check test files.")
		var rules *lint.Rules
		flags.Lint(fs, &rules)
		queries := fs.Bool("query", false, "Also check query files.")
		return func(ctx context.Context, _ []string) int {
			return e.validate(ctx, workspace.Loading{Vars: vars, Queries: *queries, Lint: rules}, *untested)
		}
	},
}

func (e *env) validate(ctx context.Context, l workspace.Loading, untested bool) int {
	tests := e.tests
	if untested {
		tests = ""
	}
	_, list := workspace.Validate{Dir: e.directory, Loading: l, Tests: tests}.Run(ctx)
	if e.Validation(list); e.JSON {
		if list.HasErrors() {
			return 1
		}
		return 0
	}
	if e.Diags(list) != 0 {
		return 1
	}
	success := e.Pen().Paint("Success!", ansi.Bold, ansi.Green)
	if len(list) > 0 {
		e.Say("%s The configuration is valid, but there were some\nvalidation warnings as shown above.\n\n", success)
	} else {
		e.Say("%s The configuration is valid.\n\n", success)
	}
	return 0
}
