package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/front/completion"
	"weir.dev/weir/internal/word/diag"
)

var completionCommand = &command{
	Name: "completion", Args: "SHELL", Min: 1, Max: 1,
	Synopsis: "Print what a shell reads to complete command lines",
	Long:     "SHELL is bash, zsh, fish or powershell. \"weir -install-autocomplete\" has the shells read it at their start.",
	Setup: func(e *env, _ *flag.FlagSet) runner {
		return func(_ context.Context, args []string) int {
			text, err := completion.Script(args[0], e.program)
			if err != nil {
				return e.Fail(diag.BadOption.As("No such shell"), "%s.", err)
			}
			e.Say("%s", text)
			return 0
		}
	},
}
