package daemon

import "weir.dev/weir/internal/core/diag"

// Codes of daemons.
var (
	Running  = diag.Code{Name: "daemon-running", Summary: "A daemon is running already"}
	Unserved = diag.Code{Name: "daemon-not-started", Summary: "The daemon can't be started"}
	Absent   = diag.Code{Name: "daemon-not-running", Summary: "No daemon is running"}
)
