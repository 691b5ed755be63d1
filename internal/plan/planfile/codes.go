package planfile

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Unreadable = diag.Code{Name: "unreadable-plan", Summary: "Failed to read plan"}
)
