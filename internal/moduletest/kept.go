package moduletest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider/providerpool"
	"weir.dev/weir/internal/state"
)

// A Shelf keeps states with real objects beyond the process.
type Shelf interface {
	Begin(ctx context.Context, l testresult.Label) (Kept, diag.List)
}

// A Kept state is written down before and while it changes.
type Kept interface {
	// Record begins an apply; the outputs are those of the runs so far. The
	// journal is nil where nothing happens to objects.
	Record(ctx context.Context, l testresult.Label, outputs map[string]cty.Value, p *plan.Plan, stop <-chan struct{}) (apply.Journal, diag.List)
	// Save ends what Record began.
	Save(ctx context.Context, after *state.Snapshot, outputs map[string]cty.Value) diag.List
	// Doubts are objects that were asked for and may exist. Forget says that
	// none of them does.
	Doubts() []string
	Forget() error
	// Answers is a directory for what providers answer to creations; empty where
	// that isn't kept.
	Answers() string
	// Drop ends it: there is nothing left. Release leaves it for others.
	Drop() error
	Release()
	Place() string
}

// real reports whether a plan does something to objects that aren't made up.
func real(config *engine.Config, p *plan.Plan) bool {
	made := config.World.Catalog.(*catalog).overrides
	return slices.ContainsFunc(p.Changes, func(c *plan.Change) bool {
		if c.Addr.Name.Mode != addr.Managed || c.Action == plan.NoOp {
			return false
		}
		if _, overridden := find(made.resources, c.Addr.Instance); overridden {
			return false
		}
		if c.Provider.Provider.IsBuiltin() && !provisions(config, c.Addr.Instance) {
			return false // nothing of it is outside
		}
		at := *c.Provider
		at.Key = addr.NoKey
		return made.mocks[at] == nil
	})
}

// provisions reports whether commands belong to an object.
func provisions(config *engine.Config, i addr.Instance) bool {
	tree := config.Tree.At(i.Module)
	if tree == nil || tree.Program == nil {
		return false
	}
	r := tree.Program.ResourceByName[i.Name]
	return r != nil && len(r.Provisioners) > 0
}

// record begins to record an apply on disk where it is about real objects.
func (w *work) record(ctx context.Context, r *testresult.Run, e *entry, config *engine.Config, p *plan.Plan, stop <-chan struct{}) (apply.Journal, diag.List) {
	if w.Shelf == nil || p == nil || e.kept == nil && !real(config, p) {
		return nil, nil
	}
	l := testresult.Label{File: w.file.Name, Key: key(r), Run: r.Name}
	if e.kept == nil {
		kept, diags := w.Shelf.Begin(ctx, l)
		if diags.HasErrors() {
			return nil, diags
		}
		if e.kept = kept; e.last == nil {
			e.snapshot, e.last = state.Empty(), r
		}
	}
	return e.kept.Record(ctx, l, w.sofar(), p, stop)
}

// sofar are the outputs of the runs so far.
func (w *work) sofar() map[string]cty.Value {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.outputs)
}

// Left is a state that an earlier process has left.
type Left struct {
	testresult.Label
	Snapshot *state.Snapshot
	Outputs  map[string]cty.Value
	Kept     Kept
}

// CleanUp destroys what earlier processes have left, each state as the run that changed it
// last was configured. Without a trace of that run it only reports.
func CleanUp(ctx context.Context, suite *testresult.Suite, left []Left, o Options) diag.List {
	s := &session{Options: o, programs: newCache(nil), keeper: providerpool.New(o.World.Catalog, 0)}
	defer s.keeper.Close()
	suite.Status = testresult.Pass
	var diags diag.List
	for _, f := range suite.Files {
		w := &work{session: s, file: f, states: map[string]*entry{}, outputs: map[string]cty.Value{}}
		f.Status = testresult.Pass
		for i, l := range left {
			if l.File != f.Name {
				continue
			}
			n := slices.IndexFunc(f.Runs, func(r *testresult.Run) bool { return r.Name == l.Run })
			if n < 0 {
				continue
			}
			maps.Copy(w.outputs, l.Outputs)
			// Several processes may have left states of the same key.
			w.states[fmt.Sprint(l.Key, "\x00", i)] = &entry{snapshot: l.Snapshot, last: f.Runs[n], kept: l.Kept}
			left[i].Kept = nil
		}
		w.cleanUp(ctx)
		suite.Status = max(suite.Status, f.Status)
	}
	for _, l := range left {
		if l.Kept == nil {
			continue
		}
		l.Kept.Release()
		suite.Status = testresult.Error
		diags.Add(diag.BadReference.As("Unknown run").New(diag.Error, "The run %q of %s, which made the objects in %s, isn't there any more. Bring it back, or destroy them with a configuration of their providers and:\n    %s destroy -state=%[3]s", l.Run, l.File, l.Kept.Place(), o.Program))
	}
	return diags
}

// settle ends a kept state. It stays where something is left of it.
func (w *work) settle(e *entry, left *state.Snapshot) diag.List {
	if e.kept == nil {
		return nil
	}
	if left != nil {
		e.kept.Release()
		return nil
	}
	if diags := w.inDoubt(e); diags != nil {
		e.kept.Release()
		return diags
	}
	if err := e.kept.Drop(); err != nil {
		return diag.Unwritable.As("Failed to remove the state of a test").Warnings("Nothing is left of what the test made, but its state %s can't be removed: %s.", e.kept.Place(), diag.Cause(err))
	}
	return nil
}

// inDoubt reports what of a kept state may exist, nil where nothing does.
func (w *work) inDoubt(e *entry) diag.List {
	doubts := e.kept.Doubts()
	if len(doubts) == 0 {
		return nil
	}
	return diag.List{diag.InDoubt.As("Objects of a test in doubt").New(diag.Error, "The run was ended while a provider was creating these objects, and it isn't known whether they exist:\n\n  - %s\n\nLook for them, and destroy them where they do. Then let go of them with:\n    %s test -cleanup -forget", strings.Join(doubts, "\n  - "), w.Program)}
}

// forget lets go of what is in doubt where that is requested. Its dependencies can be destroyed then.
func (w *work) forget(e *entry) diag.List {
	if e.kept == nil || !w.Forget || len(e.kept.Doubts()) == 0 {
		return nil
	}
	if err := e.kept.Forget(); err != nil {
		return diag.Unwritable.As("Failed to write the journal").List("%s.", diag.Cause(err))
	}
	return nil
}

// inOrder are the states that something is left in, the last first.
func (w *work) inOrder() []*entry {
	entries := slices.Collect(maps.Values(w.states))
	entries = slices.DeleteFunc(entries, func(e *entry) bool {
		return e.last == nil || len(e.snapshot.Objects) == 0 && e.kept == nil
	})
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(b.last.Index, a.last.Index) })
	return entries
}
