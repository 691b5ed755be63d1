package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Verify reads all that is stored of the state of the selected workspace, the
// dependency lock file, and plan files. It changes nothing.
type Verify struct {
	Dir   *Directory
	State statemgr.Options
	Plans []string
}

// Run returns a finding for each file.
func (v Verify) Run(ctx context.Context) ([]lockedstate.Finding, diag.List) {
	b, diags := v.Dir.Settings.CurrentBackend()
	if b == nil || diags.HasErrors() {
		return nil, diags
	}
	s, more := v.Dir.States.OpenSelected(b, v.State)
	if diags.Append(more); s == nil {
		return nil, diags
	}
	list := s.Verify(ctx)
	if data, err := v.Dir.Place.LockFile(); err != nil {
		list = append(list, lockedstate.Finding{What: lockfile.Name, Problems: lockfile.Invalid.As("Unreadable dependency lock file").List("%s: %s. Put an intact copy in place, or remove it and run init, which writes it again.", lockfile.Name, diag.Cause(err))})
	} else if len(data) > 0 {
		_, more := lockfile.Parse(data, lockfile.Name)
		list = append(list, lockedstate.Finding{What: lockfile.Name, Said: "can be read", Problems: more})
	}
	for _, path := range v.Plans {
		_, more := v.Dir.ReadPlan(path)
		list = append(list, lockedstate.Finding{What: path, Said: "can be read", Problems: more})
	}
	return list, diags
}
