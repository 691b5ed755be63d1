package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/workspace/planoptions"
)

// Drift compares the objects of a state with the real ones. It takes no lock and writes no state.
type Drift struct {
	Dir     *Directory
	Opening Opening
	Options planoptions.Planning
}

// Run returns a plan that has the drift and no changes. It is nil if none was possible, and may
// be there beside errors.
func (c Drift) Run(ctx context.Context) (*plan.Plan, diag.List) {
	config, state, diags := c.Dir.Look(ctx, c.Dir.Configuration(), c.Opening)
	if config == nil {
		return nil, diags
	}
	made, more := engine.Plan(ctx, config, state.Snapshot(), engine.PlanOptions{
		Mode: plan.RefreshOnly, Targets: c.Options.Targets, Excludes: c.Options.Excludes, AllowDeferral: true, Meaning: engine.MeaningIn(c.Dir.Place.Dialect),
	})
	return made, append(diags, more...)
}
