package cli

import (
	"context"
	"flag"
	"io"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view/analysis"
	"weir.dev/weir/internal/workspace"
)

var analyzeCommand = outlining(command{
	Name: "analyze", Args: "[ADDRESS...]",
	Synopsis: "Show dependencies between declarations",
	Long:     "Prints each declaration with its place, its references and their places, its users, its provider configuration, and the resources that it depends on. With addresses it prints only these, and the content of named modules. It reads neither states nor providers.",
}, analysis.Text, analysis.JSON)

var impactCommand = outlining(command{
	Name: "impact", Args: "ADDRESS...", Min: 1,
	Synopsis: "Show what a change to a declaration may affect",
	Long:     "Prints a tree of the declarations that refer to the addresses, directly or indirectly, with file and line. An address is that of a resource, a variable, another declaration or a whole module. It reads neither states nor providers, so references count for all instances alike.",
}, analysis.ImpactText, analysis.ImpactJSON)

// outlining makes a command about what the configuration declares at its addresses.
func outlining(c command, text func(w io.Writer, list, all []*symbols.Declaration) error, document func(list, all []*symbols.Declaration) ([]byte, error)) *command {
	c.Max = -1
	c.Setup = func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		asJSON := fs.Bool("json", false, "Print a JSON object.")
		return func(ctx context.Context, addresses []string) int {
			config, diags := e.directory.Load(ctx, workspace.Loading{Vars: vars})
			e.JSON = *asJSON // warnings must not mix with the document
			if e.Diags(diags) != 0 {
				return 1
			}
			all := symbols.Of(config.Tree)
			list, missing := symbols.Chosen(all, addresses)
			for _, address := range missing {
				e.Fail(diag.NoInstance.As("Nothing of that address"), "The configuration declares nothing at %s. \"%s analyze\" lists all declarations.", address, e.program)
			}
			if len(missing) > 0 {
				return 1
			}
			if !*asJSON {
				return e.Written(text(e.Out, list, all))
			}
			out, err := document(list, all)
			if err != nil {
				return e.Fail(diag.Unwritable.As("Failed to write the outline as JSON"), "%s.", err)
			}
			e.Say("%s\n", out)
			return 0
		}
	}
	return &c
}
