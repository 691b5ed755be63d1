package statefile

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Invalid = diag.Code{Name: "invalid-state-file", Summary: "Unsupported state file format"}
)
