package cli

import (
	"context"
	"flag"
	"slices"
	"strings"

	"weir.dev/weir/docs"
)

var explainCommand = &command{
	name: "explain", args: "[CODE]", max: 1,
	synopsis: "Tell what a kind of problem is, and what to do about it",
	long:     "Shows the cause of a kind of problem, an example and the way out. Its code stands beside the problem, and as \"code\" in what -json prints. Without a code all of them are listed.",
	setup: func(e *env, _ *flag.FlagSet) runner {
		return func(_ context.Context, args []string) int {
			if len(args) == 0 {
				return e.codes()
			}
			return e.explain(args[0])
		}
	},
}

// An explained is what the page of diagnostics says about a code.
type explained struct{ code, summary, text string }

// page splits the page of diagnostics at its headings.
func page(text string) []explained {
	var list []explained
	for part := range strings.SplitSeq("\n"+text, "\n## `") {
		heading, body, ok := strings.Cut(part, "\n")
		code, summary, coded := strings.Cut(heading, "`: ")
		if ok && coded {
			body, _, _ = strings.Cut(body, "\nShown by: ")
			list = append(list, explained{code, summary, strings.TrimSpace(body)})
		}
	}
	return list
}

func (e *env) codes() int {
	list := page(docs.Diagnostics)
	slices.SortFunc(list, func(a, b explained) int { return strings.Compare(a.code, b.code) })
	for _, x := range list {
		e.say("%-24s %s\n", x.code, x.summary)
	}
	return 0
}

func (e *env) explain(code string) int {
	for _, x := range page(docs.Diagnostics) {
		if x.code == code {
			e.say("%s (%s)\n\n%s\n", x.summary, x.code, x.text)
			return 0
		}
	}
	return e.fail("Unknown code", "There is no kind of problem with the code %q. To list all codes, run: weir explain", code)
}
