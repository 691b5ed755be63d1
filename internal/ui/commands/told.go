package commands

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/ui/completion"
	"weir.dev/weir/internal/ui/output"
)

// Completion is the command that prints what a shell reads to complete command lines, of the
// program that on names.
func Completion[E any](on func(E) (s *output.Screen, program string)) *Command[E] {
	return &Command[E]{
		Name: "completion", Args: "SHELL", Min: 1, Max: 1,
		Synopsis: "Print a shell completion script",
		Long:     "SHELL is bash, zsh, fish or powershell. \"weir -install-autocomplete\" makes the shells load it at start.",
		Setup: func(e E, _ *flag.FlagSet) Runner {
			return func(_ context.Context, args []string) int {
				s, program := on(e)
				text, err := completion.Script(args[0], program)
				if err != nil {
					return s.Fail(diag.BadOption.As("No such shell"), "%s.", err)
				}
				s.Say("%s", text)
				return 0
			}
		},
	}
}

// An Explanation is everything to say of a kind of problem.
type Explanation struct{ Code, Summary, Text string }

// Explain is the command that reports what a kind of problem is.
func Explain[E any, K ~struct{ Code, Summary, Text string }](on func(E) (*output.Screen, string), kinds func() []K) *Command[E] {
	return &Command[E]{
		Name: "explain", Args: "[CODE]", Max: 1,
		Synopsis: "Explain an error code",
		Long:     "Explains the cause of a problem and its solution, with an example. Messages show the code, and -json has it as \"code\". Without an argument it lists all codes.",
		Setup: func(e E, _ *flag.FlagSet) Runner {
			return func(_ context.Context, args []string) int {
				s, _ := on(e)
				var list []Explanation
				for _, k := range kinds() {
					list = append(list, Explanation(k))
				}
				return explain(s, list, args)
			}
		},
	}
}

func explain(s *output.Screen, kinds []Explanation, args []string) int {
	var codes []string
	for _, x := range kinds {
		codes = append(codes, x.Code)
		switch {
		case len(args) == 0:
			s.Say("%-32s %s\n", x.Code, x.Summary)
		case x.Code == args[0]:
			s.Say("%s (%s)\n\n%s\n", x.Summary, x.Code, x.Text)
			return 0
		}
	}
	if len(args) == 0 {
		return 0
	}
	return s.Fail(diag.BadOption.As("Unknown code"), "There is no kind of problem with the code %q. To list all codes, run: weir explain.%s", args[0], suggest.Ask(args[0], codes))
}
