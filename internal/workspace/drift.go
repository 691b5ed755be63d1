package workspace

import (
	"context"
	"slices"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/planinputs"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/workspace/planoptions"
)

// Drift compares the objects of a state with the real ones. It takes no lock and writes no state.
type Drift struct {
	Dir     *Directory
	Opening Opening
	Options planoptions.Planning
	// Since leaves out an object if a refresh that was recorded until then found it as it is
	// now. The zero time leaves out none.
	Since time.Time
}

// Run returns a plan that has the drift and no changes, and how many objects Since left out. The
// plan is nil if none was possible, and may be there beside errors.
func (c Drift) Run(ctx context.Context) (made *plan.Plan, earlier int, diags diag.List) {
	config, state, diags := c.Dir.Look(ctx, c.Dir.Configuration(), c.Opening)
	if config == nil {
		return nil, 0, diags
	}
	options := engine.PlanOptions{
		Mode: plan.RefreshOnly, Targets: c.Options.Targets, Excludes: c.Options.Excludes, AllowDeferral: true, Meaning: engine.MeaningIn(c.Dir.Place.Dialect),
	}
	if !c.Since.IsZero() {
		options.Looks = planinputs.Looks(planoptions.Planning{}, state, c.Dir.Place)
		if options.Looks == nil && !state.Snapshot().IsEmpty() {
			diags.Append(Unrecorded.Warnings("Nothing recorded when the objects of this state were refreshed, so all drift is shown. To begin the record, run:\n    %s", diag.Command{Program: c.Dir.Place.Program, Name: "plan -refresh=auto"}))
		}
	}
	made, more := engine.Plan(ctx, config, state.Snapshot(), options)
	diags.Append(more)
	if made == nil {
		return nil, 0, diags
	}
	made.Drift = slices.DeleteFunc(made.Drift, func(change *plan.Change) bool {
		known := options.Looks.Unchanged(change.Addr, c.Since)
		if known {
			earlier++
		}
		return known || change.Action == plan.NoOp // the configuration moves it
	})
	return made, earlier, diags
}
