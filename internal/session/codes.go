package session

import "weir.dev/weir/internal/diag"

// Codes of problems.
var (
	Locked        = diag.Code{Name: "state-locked", Summary: "Error acquiring the state lock"}
	ObjectInDoubt = diag.Code{Name: "object-in-doubt", Summary: "Object in doubt"}
)
