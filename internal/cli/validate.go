package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/view/diags"
	"weir.dev/weir/internal/view/style"
)

var validateCommand = &command{
	name: "validate", main: true,
	synopsis: "Check whether the configuration is valid",
	long:     "Checks the configuration with the schemas of its providers. Neither the state nor anything that exists is looked at.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var vars varFlags
		vars.register(fs)
		fs.BoolVar(&e.json, "json", false, "Print a JSON object.")
		e.registerTests(fs)
		untested := fs.Bool("no-tests", false, "Don't check test files.")
		return func(ctx context.Context, _ []string) int { return e.validate(ctx, vars, *untested) }
	},
}

func (e *env) validate(ctx context.Context, vars varFlags, untested bool) int {
	tests := e.tests
	if untested {
		tests = ""
	}
	list := e.directory.Validate(ctx, operation.Loading{Vars: vars}, tests)
	if e.json {
		e.say("%s", diags.Validation(list, e.directory.Sources()))
		if list.HasErrors() {
			return 1
		}
		return 0
	}
	if e.diags(list) != 0 {
		return 1
	}
	success := e.pen().Paint("Success!", style.Bold, style.Green)
	if len(list) > 0 {
		e.say("%s The configuration is valid, but there were some\nvalidation warnings as shown above.\n\n", success)
	} else {
		e.say("%s The configuration is valid.\n\n", success)
	}
	return 0
}
