package eval

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	MissingVariable = diag.Code{Name: "missing-variable", Summary: "No value for required variable"}
	InvalidVariable = diag.Code{Name: "variable-validation", Summary: "Invalid value for variable"}
	WrongType       = diag.Code{Name: "variable-type", Summary: "Invalid value for input variable"}
	SensitiveOutput = diag.Code{Name: "sensitive-output", Summary: "Output refers to sensitive values"}
	BadOutput       = diag.Code{Name: "invalid-output-value", Summary: "Invalid output value"}
	NumberStored    = diag.Code{Name: "number-not-storable", Summary: "Number can't be stored"}
	HiddenMessage   = diag.Code{Name: "error-message-hidden", Summary: "Error message refers to sensitive values"}
	Unmet           = diag.Code{Name: "condition-failed", Summary: "Resource precondition failed"}
)
