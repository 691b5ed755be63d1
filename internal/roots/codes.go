package roots

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	BadSettings = diag.Code{Name: "invalid-roots-file", Summary: "Invalid settings of roots"}
	NoRoots     = diag.Code{Name: "no-roots", Summary: "No roots found"}
	Circle      = diag.Code{Name: "roots-cycle", Summary: "Roots in a circle"}
	SharedState = diag.Code{Name: "shared-state", Summary: "Roots share a state"}
	Upstream    = diag.Code{Name: "upstream-failed", Summary: "Upstream root failed"}
	Partly      = diag.Code{Name: "root-partly-read", Summary: "Root read only in part"}
	Unplannable = diag.Code{Name: "move-not-planned", Summary: "Nothing was moved"}
	StacksApart = diag.Code{Name: "stacks-not-in-run", Summary: "Stacks aren't part of the run"}
	NotAdopted  = diag.Code{Name: "root-not-adopted", Summary: "Root can't become a component"}
	Changed     = diag.Code{Name: "move-with-changes", Summary: "The plans afterwards have changes"}
)
