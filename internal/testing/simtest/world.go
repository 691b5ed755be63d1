package simtest

import (
	"context"
	"path/filepath"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state"
)

// A World is a cloud and what the engine remembers of it.
type World struct {
	Cloud *Cloud
	State *state.Snapshot
	// Calls counts the calls of the last plan or apply.
	Calls *fake.Provider
}

// NewWorld makes a world in which there is nothing.
func NewWorld() *World { return &World{Cloud: NewCloud(), State: state.Empty()} }

// Clone makes a world in which other things can happen.
func (w *World) Clone() *World { return &World{Cloud: w.Cloud.Clone(), State: w.State.Clone()} }

// now is the time in all worlds.
var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// Load reads a configuration whose files are given by path.
func Load(files module.Memory) (*engine.Config, diag.List) { return loadBy(files, nil) }

// loadBy is Load by what was kept of earlier ones.
func loadBy(files module.Memory, kept *engine.Programs) (*engine.Config, diag.List) {
	return engine.Load(context.Background(), engine.LoadOptions{
		Dir: ".", Files: files, Programs: kept,
		World: engine.World{WorkDir: ".", OriginalDir: "/", Workspace: "default", Now: func() time.Time { return now }},
		Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
			return filepath.Join(r.ParentDir, r.Source), nil
		},
	})
}

// in is a configuration in this world.
func (w *World) in(c *engine.Config, parallelism int, applying bool) *engine.Config {
	here := *c
	w.Calls = w.Cloud.Provider(applying)
	here.World.Catalog = fake.Catalog{Source: w.Calls}
	here.World.Parallelism = parallelism
	return &here
}

// Plan plans a configuration.
func (w *World) Plan(c *engine.Config, o engine.PlanOptions) (*plan.Plan, diag.List) {
	return engine.Plan(context.Background(), w.in(c, 1, false), w.State, o)
}

// How says how a plan is applied.
type How struct {
	Parallelism int
	// Choose picks the next step among those that could run; with it one step
	// runs at a time.
	Choose func(ready []execgraph.ID) int
}

// Apply applies a plan and keeps the state, beside errors too.
func (w *World) Apply(c *engine.Config, p *plan.Plan, how How) diag.List {
	s, diags := engine.Apply(context.Background(), w.in(c, how.Parallelism, true), p, engine.ApplyOptions{Choose: how.Choose, Stop: w.Cloud.Stop()})
	w.State = s
	return diags
}

// Save writes a plan with its configuration as a plan file and reads it back.
func Save(files module.Memory, p *plan.Plan) (module.Memory, *plan.Plan, error) {
	data, err := planfile.Encode(planfile.Content{Engine: "test", Plan: p, Files: files})
	if err != nil {
		return nil, nil, err
	}
	c, err := planfile.Decode(data)
	return c.Files, c.Plan, err
}
