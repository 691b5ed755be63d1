package install

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	InconsistentLocks = diag.Code{Name: "inconsistent-lock-file", Summary: "Inconsistent dependency lock file"}
	NotFound          = diag.Code{Name: "provider-not-found", Summary: "Failed to query available provider packages"}
	NotInstalled      = diag.Code{Name: "provider-not-installed", Summary: "Failed to install provider"}
	BadInstallation   = diag.Code{Name: "invalid-installation", Summary: "Invalid provider installation configuration"}
	Incomplete        = diag.Code{Name: "incomplete-lock-file", Summary: "Incomplete lock file information for providers"}
	LockChanges       = diag.Code{Name: "lock-file-changes", Summary: "Provider dependency changes detected"}
	Needed            = diag.Code{Name: "providers-missing", Summary: "Required plugins are not installed"}
)
