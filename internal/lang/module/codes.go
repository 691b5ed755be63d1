package module

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	NotInstalled    = diag.Code{Name: "module-not-installed", Summary: "Module not installed"}
	Unreadable      = diag.Code{Name: "module-unreadable", Summary: "Unreadable module directory"}
	NotFetched      = diag.Code{Name: "module-not-fetched", Summary: "Failed to download module"}
	BadOverride     = diag.Code{Name: "invalid-override", Summary: "Unsupported override"}
	Circle          = diag.Code{Name: "module-includes-itself", Summary: "Module includes itself"}
	Changed         = diag.Code{Name: "module-changed", Summary: "Module source has changed"}
	InVariablesFile = diag.Code{Name: "declaration-in-tfvars", Summary: "Variable declaration in .tfvars file"}
)
