package syntax

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Invalid = diag.Code{Name: "invalid-syntax", Summary: "Invalid syntax"}
)
