package testfile

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	BadDirective = diag.Code{Name: "invalid-directive", Summary: "Invalid directive"}
	BadTarget    = diag.Code{Name: "invalid-override-target", Summary: "Invalid override target"}
)
