package instance

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	UnsupportedType = diag.Code{Name: "unsupported-resource-type", Summary: "Invalid resource type"}
	RedundantIgnore = diag.Code{Name: "redundant-ignore-changes", Summary: "Redundant ignore_changes element"}
)
