package lockfile

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Invalid = diag.Code{Name: "invalid-lock-file", Summary: "Invalid dependency lock file"}
)
