package install

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	InconsistentLocks = diag.Code{Name: "inconsistent-lock-file", Summary: "Inconsistent dependency lock file"}
	NotFound          = diag.Code{Name: "provider-not-found", Summary: "Failed to query available provider packages"}
	NotInstalled      = diag.Code{Name: "provider-not-installed", Summary: "Failed to install provider"}
)
