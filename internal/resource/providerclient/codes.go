package providerclient

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	BadConfiguration = diag.Code{Name: "invalid-provider-configuration", Summary: "Invalid provider configuration"}
)
