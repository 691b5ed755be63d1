package apply

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	// Halted says that an interrupt has kept steps from starting.
	Halted            = diag.Code{Name: "execution-halted", Summary: "Execution halted"}
	MayBe             = diag.Code{Name: "outcome-unknown", Summary: "Object may exist"}
	UnknownAction     = diag.Code{Name: "unknown-action", Summary: "Action configuration unknown during apply"}
	ProvisionerFailed = diag.Code{Name: "provisioner-failed", Summary: "Provisioner error"}
)
