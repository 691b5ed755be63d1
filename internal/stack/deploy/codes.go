package deploy

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	BadDeployment = diag.Code{Name: "invalid-deployment", Summary: "Invalid deployment configuration"}
	Lacking       = diag.Code{Name: "value-from-outside", Summary: "Missing value from outside"}
)
