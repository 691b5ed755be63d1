package graphbuilder

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	InUse = diag.Code{Name: "replaced-in-use", Summary: "Replaced object is still in use"}
)
