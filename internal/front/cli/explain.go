package cli

import (
	"context"
	"flag"

	"weir.dev/weir/docs"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/near"
)

var explainCommand = &command{
	Name: "explain", Args: "[CODE]", Max: 1,
	Synopsis: "Tell what a kind of problem is, and what to do about it",
	Long:     "Shows the cause of a kind of problem, an example and the way out. Its code stands beside the problem, and as \"code\" in what -json prints. Without a code all of them are listed.",
	Setup: func(e *env, _ *flag.FlagSet) runner {
		return func(_ context.Context, args []string) int {
			if len(args) == 0 {
				return e.codes()
			}
			return e.explain(args[0])
		}
	},
}

func (e *env) codes() int {
	for _, x := range docs.Kinds() {
		e.Say("%-32s %s\n", x.Code, x.Summary)
	}
	return 0
}

func (e *env) explain(code string) int {
	var codes []string
	for _, x := range docs.Kinds() {
		if codes = append(codes, x.Code); x.Code == code {
			e.Say("%s (%s)\n\n%s\n", x.Summary, x.Code, x.Text)
			return 0
		}
	}
	return e.Fail(diag.BadOption.As("Unknown code"), "There is no kind of problem with the code %q. To list all codes, run: weir explain.%s", code, near.Ask(code, codes))
}
