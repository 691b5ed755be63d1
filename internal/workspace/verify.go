package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Verify reads all that is kept of the state of the selected workspace, the
// dependency lock file, and the plan files of the given names. It changes nothing.
func (d *Directory) Verify(ctx context.Context, o statemgr.Options, plans []string) ([]lockedstate.Finding, diag.List) {
	b, diags := d.Settings.CurrentBackend()
	if b == nil || diags.HasErrors() {
		return nil, diags
	}
	s, more := d.States.OpenSelected(b, o)
	if diags.Append(more); s == nil {
		return nil, diags
	}
	list := s.Verify(ctx)
	if data, err := d.Place.LockFile(); err != nil {
		list = append(list, lockedstate.Finding{What: lockfile.Name, Problems: lockfile.Invalid.As("Unreadable dependency lock file").List("%s: %s. Put an intact copy in place, or remove it and run init, which writes it again.", lockfile.Name, diag.Cause(err))})
	} else if len(data) > 0 {
		_, more := lockfile.Parse(data, lockfile.Name)
		list = append(list, lockedstate.Finding{What: lockfile.Name, Said: "can be read", Problems: more})
	}
	for _, path := range plans {
		_, more := d.ReadPlan(path)
		list = append(list, lockedstate.Finding{What: path, Said: "can be read", Problems: more})
	}
	return list, diags
}
