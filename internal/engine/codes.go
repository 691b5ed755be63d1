package engine

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Undeclared = diag.Code{Name: "undeclared-value", Summary: "Value for undeclared variable"}
	NoLists    = diag.Code{Name: "no-list-blocks", Summary: "No resources to query"}
)
