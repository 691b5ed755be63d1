package lockedstate

import "weir.dev/weir/internal/core/diag"

// Codes of problems.
var (
	Locked      = diag.Code{Name: "state-locked", Summary: "Error acquiring the state lock"}
	Unusable    = diag.Code{Name: "state-backend-unusable", Summary: "Unusable state backend"}
	NotSaved    = diag.Code{Name: "state-not-saved", Summary: "Failed to persist state to backend"}
	NotNoted    = diag.Code{Name: "creations-not-noted", Summary: "Creations can't be noted beside the state"}
	TakenOver   = diag.Code{Name: "lock-taken-over", Summary: "Lock taken over"}
	StaysLocked = diag.Code{Name: "state-stays-locked", Summary: "The state stays locked"}
	Foreign     = diag.Code{Name: "journal-of-another-state", Summary: "Journal of another state"}
	Damaged     = diag.Code{Name: "damaged-record", Summary: "Damaged journal"}
	NotReleased = diag.Code{Name: "lock-not-released", Summary: "Error releasing the state lock"}
	Unfinished  = diag.Code{Name: "unfinished-move", Summary: "Unfinished move between states"}
	Recovered   = diag.Code{Name: "recovered", Summary: "Recovered from an interrupted run"}
)
