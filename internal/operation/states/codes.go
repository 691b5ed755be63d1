package states

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	WorkspaceMissing = diag.Code{Name: "workspace-missing", Summary: "Workspace doesn't exist"}
)
