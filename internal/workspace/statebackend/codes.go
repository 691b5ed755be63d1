package statebackend

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	ConfigurationChanged = diag.Code{Name: "backend-changed", Summary: "Backend configuration changed"}
	NotInitialized       = diag.Code{Name: "backend-not-initialized", Summary: "Backend initialization required"}
)
