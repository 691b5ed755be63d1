package moduletest

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	MadeUp     = diag.Code{Name: "made-up-values", Summary: "Run fails with made-up values"}
	Again      = diag.Code{Name: "real-objects-again", Summary: "Real objects in repeated runs"}
	NotFailed  = diag.Code{Name: "missing-expected-failure", Summary: "Missing expected failure"}
	NoProvider = diag.Code{Name: "test-provider-missing", Summary: "Missing provider definition"}
	Unordered  = diag.Code{Name: "order-not-met", Summary: "Steps in another order"}
	Asserted   = diag.Code{Name: "test-assertion-failed", Summary: "Test assertion failed"}
)
