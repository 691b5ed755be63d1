package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
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
	list := e.validation(ctx, vars, untested)
	if e.json {
		e.say("%s", diags.Validation(list, e.sources))
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

func (e *env) validation(ctx context.Context, vars varFlags, untested bool) diag.List {
	config, inputs, list := e.load(ctx, loading{vars: vars, warm: true})
	if config == nil || list.HasErrors() {
		return list
	}
	all := &tested{config: config}
	if !untested {
		list.Append(e.loadTests(ctx, engine.LoadOptions{World: config.World, Dir: ".", Inputs: inputs}, all))
		if list.HasErrors() {
			return list
		}
	}
	list.Append(e.provide(config.World.Catalog.(*lateCatalog), all.requirements(nil)))
	if list.HasErrors() {
		return list
	}
	list.Append(engine.Validate(ctx, config))
	for _, f := range all.files {
		for _, r := range f.Runs {
			list.Append(r.Problems)
		}
	}
	for _, m := range all.modules {
		list.Append(engine.Validate(ctx, m.Config))
	}
	return list
}
