package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/front/view/analysis"
	"weir.dev/weir/internal/lang/outline"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/word/diag"
)

var analyzeCommand = &command{
	Name: "analyze", Args: "[ADDRESS...]", Max: -1,
	Synopsis: "Show what the declarations of the configuration have to do with one another",
	Long:     "Prints for each declaration where it stands, what it refers to and where that is written, who refers to it, which provider configuration serves it, and which resources its instances depend on. With addresses only for those, and for what is in modules that they name. Neither states nor providers are looked at.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars varFlags
		vars.register(fs)
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(ctx context.Context, args []string) int { return e.analyze(ctx, vars, args, *asJSON) }
	},
}

func (e *env) analyze(ctx context.Context, vars varFlags, addresses []string, asJSON bool) int {
	config, diags := e.directory.Load(ctx, operation.Loading{Vars: vars})
	e.JSON = asJSON // warnings must not mix with the document
	if e.Diags(diags) != 0 {
		return 1
	}
	all := outline.Of(config.Tree)
	list, missing := outline.Chosen(all, addresses)
	for _, address := range missing {
		e.Fail(diag.NoInstance.As("Nothing of that address"), "The configuration declares nothing at %s. Without an address all declarations are listed.", address)
	}
	if len(missing) > 0 {
		return 1
	}
	if !asJSON {
		return e.Written(analysis.Text(e.Out, list, all))
	}
	text, err := analysis.JSON(list, all)
	if err != nil {
		return e.Fail(diag.Unwritable.As("Failed to write the outline as JSON"), "%s.", err)
	}
	e.Say("%s\n", text)
	return 0
}
