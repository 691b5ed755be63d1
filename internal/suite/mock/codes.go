package mock

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	BadMock = diag.Code{Name: "invalid-mock", Summary: "Invalid mock"}
)
