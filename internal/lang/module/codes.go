package module

import "weir.dev/weir/internal/word/diag"

// Codes of problems.
var (
	NotInstalled = diag.Code{Name: "module-not-installed", Summary: "Module not installed"}
	Unreadable   = diag.Code{Name: "module-unreadable", Summary: "Unreadable module directory"}
	NotFetched   = diag.Code{Name: "module-not-fetched", Summary: "Failed to download module"}
)
