package supply

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	Overrides = diag.Code{Name: "development-overrides", Summary: "Provider development overrides are in effect"}
)
