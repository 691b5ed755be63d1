package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/workspace/planoptions"
)

// Drift compares the objects of a state with the real ones. It takes no lock and writes no state.
// The plan is nil if that wasn't possible, and may be there beside errors.
func (d *Directory) Drift(ctx context.Context, s Subject, o Opening, p planoptions.Planning) (*plan.Plan, diag.List) {
	config, state, diags := d.Look(ctx, s, o)
	if config == nil {
		return nil, diags
	}
	made, more := engine.Plan(ctx, config, state.Snapshot(), engine.PlanOptions{
		Mode: plan.RefreshOnly, Targets: p.Targets, Excludes: p.Excludes, AllowDeferral: true, Meaning: engine.MeaningIn(d.Place.Dialect),
	})
	return made, append(diags, more...)
}
