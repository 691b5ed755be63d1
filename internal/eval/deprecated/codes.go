package deprecated

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Used = diag.Code{Name: "deprecated-use", Summary: "Deprecated value used"}
)
