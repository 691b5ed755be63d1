package remoterun

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Failed = diag.Code{Name: "remote-run", Summary: "The run at the service failed"}
)
