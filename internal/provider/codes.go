package provider

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Reported = diag.Code{Name: "provider-error", Summary: "Provider error"}
	Lacking  = diag.Code{Name: "unsupported-by-provider", Summary: "Unsupported by the provider"}
)
