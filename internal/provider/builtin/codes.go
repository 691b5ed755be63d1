package builtin

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	Remote = diag.Code{Name: "remote-state", Summary: "Unable to find remote state"}
)
