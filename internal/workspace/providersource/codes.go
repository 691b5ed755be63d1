package providersource

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Overrides = diag.Code{Name: "development-overrides", Summary: "Provider development overrides are in effect"}
)
