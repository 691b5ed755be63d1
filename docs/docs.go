// Package docs embeds the pages that the program prints.
package docs

import (
	"embed"
	"slices"
	"strings"
)

// diagnostics has a page for each group of codes. Each code is a heading of the second
// level, "`code`: Summary".
//
//go:embed diagnostics/*.md
var diagnostics embed.FS

// A Kind is the entry of a diagnostic code.
type Kind struct{ Code, Summary, Text string }

// Kinds returns the entries of all codes, sorted by code.
func Kinds() []Kind {
	var list []Kind
	pages, _ := diagnostics.ReadDir("diagnostics")
	for _, page := range pages {
		text, _ := diagnostics.ReadFile("diagnostics/" + page.Name())
		for part := range strings.SplitSeq("\n"+string(text), "\n## `") {
			heading, body, ok := strings.Cut(part, "\n")
			code, summary, coded := strings.Cut(heading, "`: ")
			if ok && coded {
				list = append(list, Kind{code, summary, strings.TrimSpace(body)})
			}
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
