// Package docs has the pages that the program prints.
package docs

import _ "embed"

// Diagnostics describes the kinds of problems: a heading of the second order for each, with
// its code and summary.
//
//go:embed diagnostics.md
var Diagnostics string
