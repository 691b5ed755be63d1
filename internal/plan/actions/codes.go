package actions

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	UnknownInvocation = diag.Code{Name: "unknown-invocation", Summary: "Unknown action config"}
	PartlyApplied     = diag.Code{Name: "partly-applied", Summary: "Partially applied configuration"}
	NoAction          = diag.Code{Name: "no-such-action", Summary: "Action not found"}
)
