package stack

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	NotEmbeddable = diag.Code{Name: "not-embeddable", Summary: "Deployments in an embedded stack"}
)
