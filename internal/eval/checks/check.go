package checks

import (
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// CheckFailed is the kind of problem that an assertion of a check block doesn't hold.
var CheckFailed = diag.Code{Name: "check-failed", Summary: "Check block assertion failed"}

// check evaluates the assertions of a check block.
func check(t *promise.Task, f *eval.Frame, c *program.Check) []eval.Outcome {
	return asserts(t, f, c, c.Asserts, CheckFailed, Pending.Summary)
}
