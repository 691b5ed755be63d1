package backendinit

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Elsewhere = diag.Code{Name: "runs-elsewhere", Summary: "Plans and applies of this workspace are made elsewhere"}
)
