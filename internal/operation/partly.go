package operation

import (
	"context"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/operation/narrow"
	"weir.dev/weir/internal/operation/refresh"
	"weir.dev/weir/internal/operation/request"
	"weir.dev/weir/internal/operation/session"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/affected"
	"weir.dev/weir/internal/plan/looks"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/work"
)

// A partial is how a plan is made of what may have changed since an earlier one, or the record
// for plans that follow.
type partial struct {
	workspace string
	record    *affected.Record
	files     []affected.File
	choice    *affected.Choice // nil plans everything
	again     bool             // it was chosen once more, by the state
	part      affected.Part
	looks     *looks.Looks

	inputs  map[string]module.VariableInput // once they are known
	given   diag.List                       // what is said of them
	loading diag.List                       // and of all of the configuration
}

// partly begins a plan of what may have changed; nil where everything is to be planned and
// nobody is to remember it.
func (d *Directory) partly(p request.Planning) *partial {
	if d.About != nil || !p.IsPlainAuto() {
		return nil
	}
	name, diags := d.Workspace()
	files, ok := narrow.Files(d.Keeper.Place)
	if len(diags) > 0 || !ok {
		return nil
	}
	t := &partial{workspace: name, files: files, record: narrow.Record(d.Keeper.Place, name)}
	t.choice = t.record.Choose(files, nil)
	return t
}

// load loads what is chosen of the configuration; nil where that isn't possible without
// anything to be said, so that everything has to be loaded.
func (t *partial) load(ctx context.Context, d *Directory, l Loading, o engine.LoadOptions) *engine.Config {
	if t == nil || t.choice == nil {
		return nil
	}
	var diags diag.List
	l.warm = false
	if o.World, diags = d.World(ctx, l); len(diags) > 0 {
		t.choice = nil
		return nil
	}
	o.Files, o.Programs = t.choice.Of(o.Files), nil
	config, diags := engine.Load(ctx, o)
	diags.Append(engine.CheckVersions(d.Dialect, config.Tree))
	if len(diags) > 0 {
		t.choice = nil
		return nil
	}
	return config
}

// fits reports whether what was loaded is what is to be planned for a state. Otherwise it is
// to be loaded again.
func (t *partial) fits(d *Directory, s *session.Session) bool {
	if t == nil || t.choice == nil {
		return true
	}
	if t.record.Under != t.under(d, s) {
		t.choice = nil
		return false
	}
	if t.looks == nil {
		t.looks = refresh.Looks(request.Planning{AutoRefresh: true}, s, d.Keeper.Place)
		t.looks.Begin(s.Snapshot(), d.Now())
	}
	t.part = t.choice.Part(s.Snapshot(), t.looks)
	if len(t.part.Due) == 0 {
		return true
	}
	if t.choice = t.record.Choose(t.files, t.part.Due); t.again {
		t.choice = nil
	}
	t.again = true
	return false
}

// under is what pieces depend on beside one another, empty where that can't be told.
func (t *partial) under(d *Directory, s *session.Session) string {
	digest := session.Digest(s)
	if digest == "" {
		return ""
	}
	return narrow.Under(d.Keeper.Place, t.workspace, t.inputs, digest)
}

// finish adds what was left out to a plan, or keeps what a plan of everything came to.
func (t *partial) finish(w *Work, p *plan.Plan, diags diag.List) {
	switch {
	case t == nil || p == nil:
	case t.choice != nil:
		if left := t.part.LeftOut; left != nil {
			p.LeftOut = p.LeftOut.With(left.Objects, left.Since)
			p.Unplanned = left.Objects
			work.Unplanned.Add(left.Objects)
		}
	default:
		t.remember(w, p, diags)
	}
}

// remember keeps what a plan of everything came to where most of it might have been left out:
// nobody else pays for it.
func (t *partial) remember(w *Work, p *plan.Plan, diags diag.List) {
	under := t.under(w.dir, w.Session)
	if under == "" || p.LeftOut == nil || p.LeftOut.Objects*2 < len(w.Session.Snapshot().Objects) {
		return
	}
	all := append(append(diag.List{}, t.loading...), diags...)
	narrow.Keep(w.dir.Keeper.Place, t.workspace, affected.New(t.record, under, t.files, affected.Made{Plan: p, State: w.Session.Snapshot(), Diags: all, Looks: w.looks}))
}

// Snapshot is the state that is planned for: a part of what was read, where the configuration
// is a part.
func (w *Work) Snapshot() *state.Snapshot {
	if t := w.opening.partial; t != nil && t.choice != nil {
		return t.part.State
	}
	return w.Session.Snapshot()
}
