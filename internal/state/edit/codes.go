package edit

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	BadMove    = diag.Code{Name: "invalid-state-move", Summary: "Invalid state move"}
	Split      = diag.Code{Name: "split-dependencies", Summary: "Dependencies between two states"}
	NotTainted = diag.Code{Name: "not-tainted", Summary: "Resource instance is not tainted"}
)
