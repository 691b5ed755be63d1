package states

import "weir.dev/weir/internal/diag"

// Codes of problems.
var (
	InDoubt = diag.Code{Name: "objects-in-doubt", Summary: "Objects are in doubt"}
)
