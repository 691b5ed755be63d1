package operation

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	Stale = diag.Code{Name: "stale-plan", Summary: "Saved plan is stale"}
)
