package moves

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	StillThere = diag.Code{Name: "moved-still-there", Summary: "Moved object still exists"}
	Ambiguous  = diag.Code{Name: "ambiguous-moves", Summary: "Ambiguous move statements"}
)
