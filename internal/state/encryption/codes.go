package encryption

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Bad   = diag.Code{Name: "invalid-encryption", Summary: "Invalid encryption configuration"}
	NoKey = diag.Code{Name: "encryption-key-failed", Summary: "Error fetching key_provider"}
	Plain = diag.Code{Name: "unencrypted", Summary: "Unencrypted method configured"}
)
