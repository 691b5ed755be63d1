package lint

import "weir.dev/weir/internal/core/diag"

// Kinds of problems that rules find. Their names are those of the rules.
var (
	UnusedDependency      = diag.Code{Name: "core:unuseddeps", Summary: "Unnecessary explicit dependency [core:unuseddeps]"}
	QuotedReference       = diag.Code{Name: "core:quotedref", Summary: "Reference in quotes [core:quotedref]"}
	IneffectiveComparison = diag.Code{Name: "core:ineffeq", Summary: "Comparison of different types [core:ineffeq]"}
	ImpureFunction        = diag.Code{Name: "core:impurefunc", Summary: "Function with another result each time [core:impurefunc]"}
)
