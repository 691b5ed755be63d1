package statemgr

import (
	"context"
	"slices"

	"weir.dev/weir/internal/workspace/statebackend"
)

// Anything that is near is in files of this machine, and found without asking anybody: for
// what is offered while a command line is typed. Where there are problems, nothing is offered.

func (d *Keeper) near() *statebackend.Backend {
	if b, diags := d.settings.CurrentBackend(); b != nil && !diags.HasErrors() && b.Kind == "local" {
		return b
	}
	return nil
}

// NearWorkspaces are the names of workspaces.
func (d *Keeper) NearWorkspaces() []string {
	b := d.near()
	if b == nil {
		return nil
	}
	names, err := b.Workspaces(context.Background())
	if err != nil {
		return nil
	}
	return names
}

// NearAddresses are those of the instances in the state of the selected workspace.
func (d *Keeper) NearAddresses() []string {
	b := d.near()
	if b == nil {
		return nil
	}
	s, diags := d.PresentSelected(context.Background(), b, Options{})
	if s == nil || diags.HasErrors() {
		return nil
	}
	var list []string
	for o := range s.Snapshot().Objects {
		list = append(list, o.Instance.String())
	}
	slices.Sort(list)
	return slices.Compact(list)
}
