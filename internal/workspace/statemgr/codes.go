package statemgr

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	WorkspaceMissing = diag.Code{Name: "workspace-missing", Summary: "Workspace doesn't exist"}
)
