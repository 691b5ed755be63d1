package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/function"
)

var metadataCommands = []*command{
	{name: "metadata", synopsis: "Metadata related commands"},
	{
		name: "metadata functions", synopsis: "Show signatures and descriptions for the available functions",
		setup: func(e *env, fs *flag.FlagSet) runner {
			asJSON := fs.Bool("json", false, "Print a JSON object. It is required, for now.")
			return func(context.Context, []string) int {
				if !*asJSON {
					return e.fail("The `metadata functions` command requires the `-json` flag", "There is no other form of the output yet.")
				}
				text, err := function.MetadataJSON()
				if err != nil {
					return e.fail("Failed to write the signatures of functions", "%s.", err)
				}
				e.say("%s\n", text)
				return 0
			}
		},
	},
}
