package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/view/style"
	"weir.dev/weir/internal/operation"
)

var validateCommand = &command{
	Name: "validate", Main: true,
	Synopsis: "Check whether the configuration is valid",
	Long:     "Checks the configuration with the schemas of its providers. Neither the state nor anything that exists is looked at.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		fs.BoolVar(&e.JSON, "json", false, "Print a JSON object.")
		e.registerTests(fs)
		untested := fs.Bool("no-tests", false, "Don't check test files.")
		return func(ctx context.Context, _ []string) int { return e.validate(ctx, vars, *untested) }
	},
}

func (e *env) validate(ctx context.Context, vars flags.Vars, untested bool) int {
	tests := e.tests
	if untested {
		tests = ""
	}
	list := e.directory.Validate(ctx, operation.Loading{Vars: vars}, tests)
	if e.JSON {
		e.Validation(list)
		if list.HasErrors() {
			return 1
		}
		return 0
	}
	if e.Diags(list) != 0 {
		return 1
	}
	success := e.Pen().Paint("Success!", style.Bold, style.Green)
	if len(list) > 0 {
		e.Say("%s The configuration is valid, but there were some\nvalidation warnings as shown above.\n\n", success)
	} else {
		e.Say("%s The configuration is valid.\n\n", success)
	}
	return 0
}
