package planner

import "weir.dev/weir/internal/word/diag"

// The kinds of problems that have names.
var (
	ProviderGone         = diag.Code{Name: "provider-gone", Summary: "Provider configuration not present"}
	ProviderInstanceGone = diag.Code{Name: "provider-instance-gone", Summary: "Provider instance not present"}
	Targeting            = diag.Code{Name: "targeting", Summary: "Resource targeting is in effect"}
	UnknownCount         = diag.Code{Name: "unknown-count", Summary: "Invalid count argument"}
	UnknownForEach       = diag.Code{Name: "unknown-for-each", Summary: "Invalid for_each argument"}
	StillThere           = diag.Code{Name: "removed-still-there", Summary: "Removed resource instance still exists"}
)
