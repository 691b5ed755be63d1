package workspace

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Stale         = diag.Code{Name: "stale-plan", Summary: "Saved plan is stale"}
	Managed       = diag.Code{Name: "already-managed", Summary: "Resource already managed by weir"}
	PlanVariables = diag.Code{Name: "plan-variable-mismatch", Summary: "Mismatch between input and plan variable value"}
)
