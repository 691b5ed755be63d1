package outside

import "weir.dev/weir/internal/word/diag"

// Behind says that a stack reads what has changed and wasn't applied since.
var Behind = diag.Code{Name: "downstream-not-applied", Summary: "Not applied downstream"}
