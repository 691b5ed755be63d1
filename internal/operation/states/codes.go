package states

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	InDoubt          = diag.Code{Name: "objects-in-doubt", Summary: "Objects are in doubt"}
	WorkspaceMissing = diag.Code{Name: "workspace-missing", Summary: "Workspace doesn't exist"}
)
