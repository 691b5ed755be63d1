// Package docs has the pages that the program prints.
package docs

import (
	_ "embed"
	"strings"
)

// Diagnostics describes the kinds of problems: a heading of the second order for each, with
// its code and summary.
//
//go:embed diagnostics.md
var Diagnostics string

// A Kind is what the page of diagnostics says about a code.
type Kind struct{ Code, Summary, Text string }

// Kinds are the kinds of problems, in the order of the page.
func Kinds() []Kind {
	var list []Kind
	for part := range strings.SplitSeq("\n"+Diagnostics, "\n## `") {
		heading, body, ok := strings.Cut(part, "\n")
		code, summary, coded := strings.Cut(heading, "`: ")
		if ok && coded {
			body, _, _ = strings.Cut(body, "\nShown by: ")
			list = append(list, Kind{code, summary, strings.TrimSpace(body)})
		}
	}
	return list
}
