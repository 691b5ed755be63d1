package compiler

import "weir.dev/weir/internal/core/diag"

// The kinds of problems that have names.
var (
	UndeclaredVariable  = diag.Code{Name: "undeclared-variable", Summary: "Reference to undeclared input variable"}
	UndeclaredLocal     = diag.Code{Name: "undeclared-local", Summary: "Reference to undeclared local value"}
	UndeclaredModule    = diag.Code{Name: "undeclared-module", Summary: "Reference to undeclared module"}
	UndeclaredResource  = diag.Code{Name: "undeclared-resource", Summary: "Reference to undeclared resource"}
	UndeclaredComponent = diag.Code{Name: "undeclared-component", Summary: "Reference to undeclared component"}
	UndeclaredStack     = diag.Code{Name: "undeclared-stack", Summary: "Reference to undeclared stack"}
	UndeclaredOutput    = diag.Code{Name: "undeclared-output", Summary: "Reference to undeclared output value"}
	UndeclaredSymbol    = diag.Code{Name: "unknown-symbol", Summary: "Reference to unknown symbol"}
	SelfReference       = diag.Code{Name: "self-reference", Summary: "Self-referential block"}
	BadLifecycle        = diag.Code{Name: "invalid-lifecycle", Summary: "Invalid lifecycle block"}
	BadDependsOn        = diag.Code{Name: "invalid-depends-on", Summary: "Invalid depends_on reference"}
	MissingKey          = diag.Code{Name: "wrong-instance-key", Summary: "Missing resource instance key"}
	BadRequirements     = diag.Code{Name: "invalid-required-providers", Summary: "Invalid required_providers object"}
	StillDeclared       = diag.Code{Name: "removed-still-declared", Summary: "Removed resource block still exists"}
	BadTrigger          = diag.Code{Name: "invalid-action-trigger", Summary: "Invalid action_trigger block"}
	BadFunction         = diag.Code{Name: "unknown-provider-function", Summary: "Unknown function provider"}
)

// undeclared reports a reference to what isn't there. Anything that is gone is compiled
// without most of what it had: its references lead nowhere, and nobody evaluates them.
func (c *compiler) undeclared(d diag.Diagnostic) {
	if !c.gone {
		c.diags.Add(d)
	}
}
