package workspace

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Stale   = diag.Code{Name: "stale-plan", Summary: "Saved plan is stale"}
	Managed = diag.Code{Name: "already-managed", Summary: "Resource already managed by weir"}
	// TerraformDirectory is reported by runs without a chosen mode.
	TerraformDirectory = diag.Code{Name: "terraform-directory", Summary: "This directory belongs to Terraform"}
	// Unrecorded is reported where drift is compared with a record of refreshes that no plan has started.
	Unrecorded    = diag.Code{Name: "no-record-of-refreshes", Summary: "No record of refreshes"}
	PlanVariables = diag.Code{Name: "plan-variable-mismatch", Summary: "Mismatch between input and plan variable value"}
)
