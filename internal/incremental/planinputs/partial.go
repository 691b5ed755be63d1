package planinputs

import (
	"context"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/incremental/impact"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/planoptions"
)

// A Partial is how a plan is made of what may have changed since an earlier one, or the record
// for plans that follow.
type Partial struct {
	at        *environment.Place
	workspace string
	external  map[addr.Provider]bool
	record    *impact.Record
	files     []*impact.File
	sources   map[string]*impact.Source
	choice    *impact.Choice // nil plans everything
	again     bool           // it was chosen once more, by the state
	part      impact.Part
	looks     *freshness.Looks

	// inputs are the values of variables, once they are known, and given what is said of them;
	// loading is what is said of all of the configuration.
	inputs  map[string]module.VariableInput
	given   diag.List
	loading diag.List
}

// Begin begins a plan of what may have changed since an earlier one; nil where everything is to
// be planned and nobody is to remember it. External providers aren't released ones.
func Begin(at *environment.Place, workspace string, external map[addr.Provider]bool) *Partial {
	files, ok := Files(at)
	if !ok {
		return nil
	}
	t := &Partial{at: at, workspace: workspace, external: external, files: files, sources: Sources(at), record: Record(at, workspace)}
	t.choice = t.record.Choose(files, t.sources, nil)
	return t
}

// Given are the values of variables, which are found once: people may be asked for them.
func (t *Partial) Given(find func() (map[string]module.VariableInput, diag.List)) (map[string]module.VariableInput, diag.List) {
	if t == nil {
		return find()
	}
	if t.inputs == nil {
		if t.inputs, t.given = find(); t.given.HasErrors() {
			return nil, t.given
		}
	}
	return t.inputs, t.given
}

// Loaded learns what is said of all of the configuration.
func (t *Partial) Loaded(diags diag.List) {
	if t != nil {
		t.loading = diags
	}
}

// Load loads what is chosen of the configuration; nil where that isn't possible without
// anything to be said, so that everything has to be loaded.
func (t *Partial) Load(ctx context.Context, o engine.LoadOptions, world func() (engine.World, diag.List)) *engine.Config {
	if t == nil || t.choice == nil {
		return nil
	}
	var diags diag.List
	if o.World, diags = world(); len(diags) == 0 {
		o.Files, o.Programs = t.choice.Of(o.Files), nil
		var config *engine.Config
		config, diags = engine.Load(ctx, o)
		if diags.Append(engine.CheckVersions(t.at.Dialect, config.Tree)); len(diags) == 0 {
			return config
		}
	}
	t.choice = nil
	return nil
}

// Fits reports whether what was loaded is what is to be planned for a state. Otherwise it is
// to be loaded again.
func (t *Partial) Fits(s *lockedstate.Session) bool {
	if t == nil || t.choice == nil {
		return true
	}
	if t.record.Under != t.under(s) {
		t.choice = nil
		return false
	}
	if t.looks == nil {
		t.looks = Looks(planoptions.Planning{AutoRefresh: true}, s, t.at)
		t.looks.Begin(s.Snapshot(), t.at.Now())
	}
	t.part = t.choice.Part(s.Snapshot(), t.looks, t.external)
	if len(t.part.Due) == 0 {
		return true
	}
	if t.choice = t.record.Choose(t.files, t.sources, t.part.Due); t.again {
		t.choice = nil
	}
	t.again = true
	return false
}

// under is what pieces depend on beside one another, empty where that 't be known.
func (t *Partial) under(s *lockedstate.Session) string {
	digest := lockedstate.Digest(s)
	if digest == "" {
		return ""
	}
	return Under(t.at, t.workspace, t.inputs, t.external, digest)
}

// Finish adds what was left out to a plan that was made by what says of objects when they were
// inspected, or keeps what a plan of everything came to.
func (t *Partial) Finish(s *lockedstate.Session, p *plan.Plan, by *freshness.Looks, diags diag.List) {
	switch {
	case t == nil || p == nil:
		return
	case t.choice == nil:
		t.remember(s, impact.Made{
			Plan: p, State: s.Snapshot(), Diags: slices.Concat(t.loading, diags), Looks: by, Sources: t.sources, At: p.Timestamp,
		})
		return
	}
	if r := t.choice.After(p, diags); r != t.record {
		Keep(t.at, t.workspace, r)
	}
	p.Outputs = append(p.Outputs, t.part.Outputs...)
	slices.SortFunc(p.Outputs, func(a, b *plan.OutputChange) int { return strings.Compare(a.Name, b.Name) })
	if left := t.part.LeftOut; left != nil {
		p.LeftOut, p.Unplanned = p.LeftOut.With(left.Objects, left.Since), left.Objects
		metrics.Unplanned.Add(left.Objects)
	}
}

// remember keeps what a plan of everything came to where most of it might have been left out:
// nobody else pays for it.
func (t *Partial) remember(s *lockedstate.Session, m impact.Made) {
	under := t.under(s)
	if under != "" && m.Plan.LeftOut != nil && m.Plan.LeftOut.Objects*2 >= len(m.State.Objects) {
		Keep(t.at, t.workspace, impact.New(t.record, under, t.files, m))
	}
}

// Snapshot is the state that is planned for: a part of what was read, where the configuration
// is a part.
func (t *Partial) Snapshot(s *lockedstate.Session) *state.Snapshot {
	if t != nil && t.choice != nil {
		return t.part.State
	}
	return s.Snapshot()
}

// Looks are those that what is planned was chosen by; nil where everything is.
func (t *Partial) Looks() *freshness.Looks {
	if t == nil || t.choice == nil {
		return nil
	}
	return t.looks
}
