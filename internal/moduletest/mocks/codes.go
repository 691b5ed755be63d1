package mocks

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	BadMock = diag.Code{Name: "invalid-mock", Summary: "Invalid mock"}
)
