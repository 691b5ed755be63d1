package workspace

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Settle says of objects in doubt that they don't exist: of those given, or of all.
// It returns these, and what is still in doubt.
func (d *Directory) Settle(ctx context.Context, o statemgr.Options, forget []addr.Instance, all bool) (forgotten, left []journal.Operation, diags diag.List) {
	s, diags := d.States.State(ctx, o, "recover")
	if s == nil && unfinished(diags) {
		if diags = d.FinishMove(ctx, o); diags.HasErrors() {
			return nil, nil, diags
		}
		var more diag.List
		s, more = d.States.State(ctx, o, "recover")
		diags.Append(more)
	}
	if s == nil {
		return nil, nil, diags
	}
	defer s.Unlock()
	if left = s.Doubts(); len(left) == 0 {
		diags.Append(d.stackOnly(diag.Error, "recover"))
	}
	for _, i := range forget {
		n := slices.IndexFunc(left, func(o journal.Operation) bool { return o.Object.Instance == i })
		if n < 0 {
			diags.Add(diag.NoInstance.As("Nothing in doubt").New(diag.Error, "%s isn't in doubt. Run \"%s\" to see what is.", i, diag.Command{Program: d.Place.Program, Name: "recover"}))
			return nil, nil, diags
		}
		forgotten = append(forgotten, left[n])
		left = slices.Delete(left, n, n+1)
	}
	if all {
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

// Import brings one existing object into the state.
func (d *Directory) Import(ctx context.Context, o Opening, target addr.Target, id string) diag.List {
	i, diags := d.OpenImport(ctx, o, []planoptions.Import{{Target: target, ID: id}})
	if i == nil {
		return diags
	}
	defer i.Unlock()
	diags.Append(i.Prepare(ctx))
	if !diags.HasErrors() {
		diags.Append(i.Save(context.WithoutCancel(ctx)))
	}
	return diags
}
