package workspace

import (
	"context"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
	"weir.dev/weir/internal/workspace/transfer"
)

// Suppose has the next plan start from another state than the one that was read.
func (w *Work) Suppose(s *state.Snapshot) { w.supposed = s }

// Send moves objects to the state of another root. Both states are locked. Planned is the plan of that
// root as it will be, which knows the provider configurations there.
func (w *Work) Send(ctx context.Context, to *Work, moves []state.Move, planned *plan.Plan) diag.List {
	providers := map[addr.Object]addr.ProviderConfig{}
	for _, m := range moves {
		if o := planned.Refreshed.Objects[m.To]; o != nil {
			providers[m.To] = o.Provider
		}
	}
	from, there, diags := ends(w.dir, w.State, to.dir, to.State)
	if diags.HasErrors() {
		return diags
	}
	return transfer.Run(ctx, from, there, moves, providers)
}

// ends are two states with their roots.
func ends(a *Directory, mine *lockedstate.Claimed, b *Directory, theirs *lockedstate.Claimed) (here, there transfer.End, diags diag.List) {
	from, to, diags := seen(a, b)
	return transfer.End{State: mine, Dir: from, Workspace: mine.Workspace()}, transfer.End{State: theirs, Dir: to, Workspace: theirs.Workspace()}, diags
}

// seen are two directories as each is seen from the other.
func seen(a, b *Directory) (here, there string, diags diag.List) {
	from, err := filepath.Abs(a.Place.Dir)
	to, toErr := filepath.Abs(b.Place.Dir)
	if err == nil && toErr == nil {
		if there, err = filepath.Rel(from, to); err == nil {
			here, err = filepath.Rel(to, from)
		}
	}
	if err != nil || toErr != nil {
		return "", "", diag.Unreadable.As("Directories without a way between them").List("The way from %s to %s can't be named, and the states have to name it: %s.", a.Place.Dir, b.Place.Dir, diag.Cause(err))
	}
	return filepath.ToSlash(here), filepath.ToSlash(there), nil
}

// StatePlace is where the state of the selected workspace is, whether the directory was initialized or
// not.
func (d *Directory) StatePlace() (b *statebackend.Backend, workspace string, diags diag.List) {
	if d.Place.Backend != nil {
		workspace, diags = d.Place.Workspace()
		return d.Place.Backend, workspace, diags
	}
	inputs, diags := d.Place.Inputs(d.Place.SettingsVars)
	prog, more := d.Settings.RootSettings()
	if diags.Append(more); diags.HasErrors() {
		return nil, "", diags
	}
	if diags.Append(d.Settings.Encrypt(prog, inputs)); diags.HasErrors() {
		return nil, "", diags
	}
	b, more = d.Settings.DeclaredBackend(prog, inputs)
	if diags.Append(more); diags.HasErrors() {
		return nil, "", diags
	}
	workspace, more = d.Place.Workspace()
	return b, workspace, append(diags, more...)
}

// unfinished reports whether a state couldn't be opened because a move between it and another one
// hasn't ended.
func unfinished(diags diag.List) bool {
	return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return lockedstate.Unfinished.Is(d) && d.Severity == diag.Error })
}

// FinishMove ends a move that the state of the directory has a record of. Both states are locked
// meanwhile, in an order that all runs share. Without such a record it does nothing.
func (d *Directory) FinishMove(ctx context.Context, o statemgr.Options) diag.List {
	b, name, diags := d.StatePlace()
	if diags.HasErrors() {
		return diags
	}
	return d.finishMove(ctx, b, name, o)
}

func (d *Directory) finishMove(ctx context.Context, b *statebackend.Backend, name string, o statemgr.Options) diag.List {
	o.Transfers = true
	now, diags := d.States.PresentIn(ctx, b, name, o)
	if now == nil || now.Base() == nil || now.Base().Transfer == nil {
		return diags
	}
	t := now.Base().Transfer
	other := d.RootIn(filepath.Join(d.Place.Dir, filepath.FromSlash(t.Dir)), t.Workspace, d.Place.Reports)
	defer other.Close()
	if names, _ := other.Place.Files().List("."); module.IsEmpty(names, d.Place.Dialect) && module.HasStack(names) {
		if _, more := EnterDeployment(ctx, other, t.Workspace, false); more.HasErrors() {
			return append(diags, more...)
		}
	}
	there, name2, more := other.StatePlace()
	if more.HasErrors() {
		diags.Append(lockedstate.Unfinished.List("An earlier run ended while it moved %s. The state of that root can't be found from here: %s Finish the move in a directory that has both roots.", t, first(more)))
		return diags
	}
	theirOptions := o
	theirOptions.Files = storage.Override{} // those that the command line names are of this state
	lock := func(d *Directory, b *statebackend.Backend, name string) (*lockedstate.Claimed, bool) {
		files := o
		if d == other {
			files = theirOptions
		}
		s, more := d.States.StateIn(ctx, b, name, files, storage.Moves)
		diags.Append(more)
		return s, s != nil
	}
	var mine, theirs *lockedstate.Claimed
	ok := false
	if b.At(name).Compare(there.At(name2)) <= 0 {
		if mine, ok = lock(d, b, name); ok {
			theirs, ok = lock(other, there, name2)
		}
	} else if theirs, ok = lock(other, there, name2); ok {
		mine, ok = lock(d, b, name)
	}
	for _, s := range []*lockedstate.Claimed{mine, theirs} {
		if s != nil {
			defer s.Unlock()
		}
	}
	if !ok {
		return diags
	}
	if mine.Base() == nil || mine.Base().Transfer == nil {
		return diags // another run has ended it meanwhile
	}
	here, away, more := ends(d, mine, other, theirs)
	if !more.HasErrors() {
		more.Append(transfer.Resume(ctx, here, away))
	}
	if diags.Append(more); !more.HasErrors() {
		diags.Append(lockedstate.Recovered.As("Finished a move between states").Warnings("An earlier run ended while it moved %s. These objects are only in the destination now.", t))
	}
	return diags
}

func first(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Summary + ". " + d.Detail
		}
	}
	return ""
}
