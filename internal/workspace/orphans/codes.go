package orphans

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	// Left is what was made and not destroyed.
	Left    = diag.Code{Name: "left-by-tests", Summary: "Objects of earlier tests"}
	NotKept = diag.Code{Name: "test-state-not-kept", Summary: "Failed to keep the state of a test"}
)
