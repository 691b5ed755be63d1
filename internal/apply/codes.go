package apply

import "weir.dev/weir/internal/word/diag"

// Halted says that an interrupt has kept steps from starting.
var Halted = diag.Code{Name: "execution-halted", Summary: "Execution halted"}
