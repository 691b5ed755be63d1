package orphans

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

// Errored writes states that a suite couldn't destroy to files where people see
// them, and says how to finish. It implements testresult.Report.
type Errored struct {
	Aside   func(text string)
	Problem func(diag.List)
	Err     io.Writer // for a state that can't be written
	Program string
	Waiting func() int // how many states are to be cleaned up
	n       int
}

// FileStarts implements testresult.Report.
func (*Errored) FileStarts(*testresult.File) {}

// RunEnds implements testresult.Report.
func (*Errored) RunEnds(*testresult.File, *testresult.Run) {}

// CleanupStarts implements testresult.Report.
func (*Errored) CleanupStarts(*testresult.File) {}

// FileEnds implements testresult.Report.
func (*Errored) FileEnds(*testresult.File) {}

// Cleaned writes what is left, and says how to finish.
func (k *Errored) Cleaned(_ *testresult.File, r *testresult.Run, _ diag.List, left *state.Snapshot) {
	if left == nil {
		return
	}
	k.n++
	name := "errored_test.tfstate"
	if k.n > 1 {
		name = fmt.Sprintf("errored_test.%d.tfstate", k.n)
	}
	k.Aside("Writing state to file: " + name)
	data, err := statefile.Bytes(left)
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		k.Problem(NotKept.As("Failed to persist state").List("Writing %s: %s. The state follows on standard error.", name, diag.Cause(err)))
		fmt.Fprintln(k.Err, string(data))
		return
	}
	if k.Waiting() > 0 {
		k.Aside(fmt.Sprintf("Once the cause is gone, this destroys what is left:\n  %s test -cleanup", k.Program))
		return
	}
	dir := ""
	if r.Module != nil && module.IsLocal(r.Module.Source) {
		if at, err := filepath.Abs(name); err == nil {
			dir, name = " -chdir="+r.Module.Source, at
		}
	}
	k.Aside(fmt.Sprintf("Once the cause is gone, this destroys what is left, with the values that the test gave to variables:\n  %s%s destroy -state=%s", k.Program, dir, name))
}
