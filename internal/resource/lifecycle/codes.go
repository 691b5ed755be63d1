package lifecycle

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	NothingToImport       = diag.Code{Name: "nothing-to-import", Summary: "Cannot import non-existent remote object"}
	InconsistentResult    = diag.Code{Name: "inconsistent-result", Summary: "Provider produced inconsistent result after apply"}
	InvalidPlan           = diag.Code{Name: "invalid-plan", Summary: "Provider produced invalid plan"}
	InconsistentFinalPlan = diag.Code{Name: "inconsistent-final-plan", Summary: "Provider produced inconsistent final plan"}
	InvalidUpgrade        = diag.Code{Name: "invalid-upgrade", Summary: "Invalid resource state upgrade"}
	InvalidIdentity       = diag.Code{Name: "invalid-identity", Summary: "Provider produced invalid identity"}
	InvalidObject         = diag.Code{Name: "invalid-object", Summary: "Provider produced invalid object"}
	NullObject            = diag.Code{Name: "null-object", Summary: "Provider produced null object"}
	InvalidResult         = diag.Code{Name: "invalid-result", Summary: "Provider returned invalid result object after apply"}
	WriteOnlyReturned     = diag.Code{Name: "write-only-returned", Summary: "Import returned a non-null value for a write-only attribute"}
	UnexpectedImport      = diag.Code{Name: "unexpected-import-result", Summary: "Unexpected import result"}
	NewerProvider         = diag.Code{Name: "newer-provider-needed", Summary: "Resource instance managed by newer provider version"}
)
