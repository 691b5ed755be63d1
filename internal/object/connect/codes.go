package connect

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	BadConfiguration = diag.Code{Name: "invalid-provider-configuration", Summary: "Invalid provider configuration"}
)
