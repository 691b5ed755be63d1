package instance

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	RedundantIgnore = diag.Code{Name: "redundant-ignore-changes", Summary: "Redundant ignore_changes element"}
)
