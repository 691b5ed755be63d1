// Package docs has the pages that the program prints.
package docs

import (
	_ "embed"
	"slices"
	"strings"
)

// Diagnostics describes the kinds of problems: a heading of the second order for each, with
// its code and summary.
//
//go:embed diagnostics.md
var Diagnostics string

// A Kind is what the page of diagnostics says about a code.
type Kind struct{ Code, Summary, Text string }

// Kinds are the kinds of problems, by their codes.
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
	slices.SortFunc(list, func(a, b Kind) int { return strings.Compare(a.Code, b.Code) })
	return list
}

// Examples are command lines with what they do, below the names of commands: see the head
// of the page.
//
//go:embed examples.md
var Examples string
