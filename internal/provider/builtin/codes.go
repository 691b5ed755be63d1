package builtin

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Remote = diag.Code{Name: "remote-state", Summary: "Unable to find remote state"}
)
