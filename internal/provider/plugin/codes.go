package plugin

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Unavailable = diag.Code{Name: "provider-unavailable", Summary: "Provider is not available"}
	BadAnswer   = diag.Code{Name: "provider-answer", Summary: "Plugin did not respond"}
)
