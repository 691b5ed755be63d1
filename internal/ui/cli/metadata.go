package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/function"
)

var metadataCommands = []*command{
	{Name: "metadata", Synopsis: "Metadata related commands"},
	{
		Name: "metadata functions", Synopsis: "Show signatures and descriptions for the available functions",
		Setup: func(e *env, fs *flag.FlagSet) runner {
			asJSON := fs.Bool("json", false, "Print a JSON object; required.")
			return func(context.Context, []string) int {
				if !*asJSON {
					return e.Fail(diag.BadOption.As("The `metadata functions` command requires the `-json` flag"), "There is no other form of the output yet.")
				}
				text, err := function.MetadataJSON()
				if err != nil {
					return e.Fail(diag.Unwritable.As("Failed to write the signatures of functions"), "%s.", err)
				}
				e.Say("%s\n", text)
				return 0
			}
		},
	},
}
