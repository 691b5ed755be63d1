package backend

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	ConfigurationChanged = diag.Code{Name: "backend-changed", Summary: "Backend configuration changed"}
	NotInitialized       = diag.Code{Name: "backend-not-initialized", Summary: "Backend initialization required"}
)
