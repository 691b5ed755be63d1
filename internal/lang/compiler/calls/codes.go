package calls

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	UndefinedProvider = diag.Code{Name: "undefined-provider", Summary: "Reference to undefined provider"}
	MissingProvider   = diag.Code{Name: "missing-provider-configuration", Summary: "Missing required provider configuration"}
	Mismatch          = diag.Code{Name: "provider-type-mismatch", Summary: "Provider type mismatch"}
	OwnProviders      = diag.Code{Name: "module-with-providers", Summary: "Module is incompatible with count, for_each, enabled and depends_on"}
	BackendIgnored    = diag.Code{Name: "backend-ignored", Summary: "Backend configuration ignored"}
	UnusedInput       = diag.Code{Name: "unused-input", Summary: "Unused input"}
)
