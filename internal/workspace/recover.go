package workspace

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Recover saves what the journal of an interrupted run knows, and resolves objects in doubt.
type Recover struct {
	Dir   *Directory
	State statemgr.Options
	// Forget are objects in doubt that don't exist; ForgetAll says so of all.
	Forget    []addr.Instance
	ForgetAll bool
}

// Run returns the objects that it resolved, and those that are still in doubt.
func (r Recover) Run(ctx context.Context) (forgotten, left []journal.Operation, diags diag.List) {
	s, diags := r.Dir.States.State(ctx, r.State, "recover")
	if s == nil && unfinished(diags) {
		if diags = r.Dir.FinishMove(ctx, r.State); diags.HasErrors() {
			return nil, nil, diags
		}
		var more diag.List
		s, more = r.Dir.States.State(ctx, r.State, "recover")
		diags.Append(more)
	}
	if s == nil {
		return nil, nil, diags
	}
	defer s.Unlock()
	if left = s.Doubts(); len(left) == 0 {
		diags.Append(r.Dir.stackOnly(diag.Error, "recover"))
	}
	for _, i := range r.Forget {
		n := slices.IndexFunc(left, func(o journal.Operation) bool { return o.Object.Instance == i })
		if n < 0 {
			diags.Add(diag.NoInstance.As("Nothing in doubt").New(diag.Error, "%s isn't in doubt. Run \"%s\" to see what is.", i, diag.Command{Program: r.Dir.Place.Program, Name: "recover"}))
			return nil, nil, diags
		}
		forgotten = append(forgotten, left[n])
		left = slices.Delete(left, n, n+1)
	}
	if r.ForgetAll {
		forgotten, left = append(forgotten, left...), nil
	}
	if len(forgotten) == 0 {
		return nil, left, diags
	}
	if err := s.Settle(left); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write the journal").New(diag.Error, "%s.", err))
		return nil, nil, diags
	}
	return forgotten, left, diags
}
