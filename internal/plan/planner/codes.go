package planner

import "weir.dev/weir/internal/core/diag"

// The kinds of problems that have names.
var (
	ProviderGone         = diag.Code{Name: "provider-gone", Summary: "Provider configuration not present"}
	ProviderInstanceGone = diag.Code{Name: "provider-instance-gone", Summary: "Provider instance not present"}
	Targeting            = diag.Code{Name: "targeting", Summary: "Resource targeting is in effect"}
	UnknownCount         = diag.Code{Name: "unknown-count", Summary: "Invalid count argument"}
	UnknownForEach       = diag.Code{Name: "unknown-for-each", Summary: "Invalid for_each argument"}
	StillThere           = diag.Code{Name: "removed-still-there", Summary: "Removed resource instance still exists"}
	UnresolvedMoves      = diag.Code{Name: "unresolved-moves", Summary: "Unresolved resource instance address changes"}
	MovesExcluded        = diag.Code{Name: "moves-not-targeted", Summary: "Moved resource instances excluded by targeting"}
	Forgotten            = diag.Code{Name: "removed-from-state", Summary: "Resource will be removed from the state"}
	SharedObject         = diag.Code{Name: "object-at-two-addresses", Summary: "One object at two addresses"}
	DestroyRefused       = diag.Code{Name: "prevent-destroy", Summary: "Resource instance cannot be destroyed"}
)
