package calls

import "weir.dev/weir/internal/word/diag"

// UndefinedProvider is the kind of a provider configuration that is named and that a
// module doesn't have.
var UndefinedProvider = diag.Code{Name: "undefined-provider", Summary: "Reference to undefined provider"}
