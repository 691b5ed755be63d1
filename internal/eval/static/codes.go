package static

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	NotKnown = diag.Code{Name: "not-known-early", Summary: "Invalid module source"}
)
