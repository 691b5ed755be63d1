package backend

import "weir.dev/weir/internal/diag"

// Codes of problems.
var (
	ConfigurationChanged = diag.Code{Name: "backend-changed", Summary: "Backend configuration changed"}
)
