package stack

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	NotEmbeddable = diag.Code{Name: "not-embeddable", Summary: "Deployments in an embedded stack"}
)
