// Package statemgr finds, locks and reads the states of a directory: of its selected workspace,
// of other workspaces, and of the deployments of a stack.
//
// It owns which state is meant and what workspaces there are. It doesn't know what is done
// with a state.
package statemgr

import (
	"context"
	"strconv"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Options say which files a state is in, and how it is locked and read.
type Options struct {
	// Files are those to use in place of the local backend's own.
	Files   storage.Override
	Locking lockedstate.Locking
	// Damaged has a damaged journal taken for as far as it can be read.
	Damaged bool
	// Unread: the state is to be replaced, so it needn't be readable.
	Unread bool
	// Transfers: the run ends moves between states.
	Transfers bool
	// Outlined: the command needs no more of objects than their addresses.
	Outlined bool
}

// A Keeper has the states of a directory.
type Keeper struct {
	place    *environment.Place
	settings *backendinit.Reader
}

// New has the states of a directory with these settings.
func New(r *backendinit.Reader) *Keeper { return &Keeper{place: r.Place, settings: r} }

// State opens the state of the selected workspace, locks it for the operation of
// that name and reads it.
func (d *Keeper) State(ctx context.Context, o Options, operation string) (*lockedstate.Claimed, diag.List) {
	b, diags := d.settings.CurrentBackend()
	if b == nil {
		return nil, diags
	}
	name, more := d.place.Workspace()
	if diags.Append(more); more.HasErrors() {
		return nil, diags
	}
	s, more := d.StateIn(ctx, b, name, o, operation)
	return s, append(diags, more...)
}

// StateIn is State for a workspace of a backend.
func (d *Keeper) StateIn(ctx context.Context, b *statebackend.Backend, workspace string, o Options, operation string) (*lockedstate.Claimed, diag.List) {
	opened, diags := d.OpenState(b, workspace, o)
	if opened == nil {
		return nil, diags
	}
	s, more := d.Lock(ctx, opened, operation, o)
	if diags.Append(more); s == nil || diags.HasErrors() {
		return nil, diags
	}
	if problems := d.place.Aside(s.Read(ctx)); !o.Unread || !problems.HasErrors() {
		diags.Append(problems)
	}
	if diags.HasErrors() {
		s.Unlock()
		return nil, diags
	}
	return s, diags
}

// Present reads the state of the selected workspace without locking it: it can't be
// changed.
func (d *Keeper) Present(ctx context.Context, o Options) (*lockedstate.Session, diag.List) {
	b, diags := d.settings.CurrentBackend()
	if b == nil {
		return nil, diags
	}
	s, more := d.PresentSelected(ctx, b, o)
	return s, append(diags, more...)
}

// PresentSelected is Present for another backend.
func (d *Keeper) PresentSelected(ctx context.Context, b *statebackend.Backend, o Options) (*lockedstate.Session, diag.List) {
	name, diags := d.place.Workspace()
	if diags.HasErrors() {
		return nil, diags
	}
	return d.PresentIn(ctx, b, name, o)
}

// PresentIn is Present for a workspace of a backend.
func (d *Keeper) PresentIn(ctx context.Context, b *statebackend.Backend, workspace string, o Options) (*lockedstate.Session, diag.List) {
	s, diags := d.OpenState(b, workspace, o)
	if s == nil || diags.HasErrors() {
		return nil, diags
	}
	if diags.Append(d.place.Aside(s.Read(ctx))); diags.HasErrors() {
		return nil, diags
	}
	return s, diags
}

// OpenSelected finds the state of the selected workspace. It takes no lock and
// reads nothing.
func (d *Keeper) OpenSelected(b *statebackend.Backend, o Options) (*lockedstate.Session, diag.List) {
	name, diags := d.place.Workspace()
	if diags.HasErrors() {
		return nil, diags
	}
	return d.OpenState(b, name, o)
}

// OpenState finds the state of a workspace. It takes no lock and reads nothing.
func (d *Keeper) OpenState(b *statebackend.Backend, workspace string, o Options) (*lockedstate.Session, diag.List) {
	options, diags := d.SessionOptions(b, o)
	if diags.HasErrors() {
		return nil, diags
	}
	s, more := lockedstate.Open(b, workspace, options)
	return s, append(diags, more...)
}

// Lock takes the lock of a state unless the options say otherwise. It is
// released when the directory is closed, on every path.
func (d *Keeper) Lock(ctx context.Context, s *lockedstate.Session, operation string, o Options) (*lockedstate.Claimed, diag.List) {
	l, diags := s.Lock(ctx, operation, o.Locking)
	if l != nil {
		d.place.OnClose(l.Unlock)
	}
	return l, diags
}

// Commit saves a changed state.
func (d *Keeper) Commit(ctx context.Context, s *lockedstate.Claimed, next *state.Snapshot) diag.List {
	if err := s.Save(ctx, next); err != nil {
		return diag.Unwritable.As("Failed to save state").List("Error saving the state: %s.\n\nThe state was not changed.", err)
	}
	return nil
}

// leastInterval is the least that TF_STATE_PERSIST_INTERVAL can ask for.
const leastInterval = 20 * time.Second

// SessionOptions are those of work on states in a backend.
func (d *Keeper) SessionOptions(b *statebackend.Backend, o Options) (lockedstate.Options, diag.List) {
	seals, diags := d.seals()
	options := lockedstate.Options{
		Disk: d.place.StateDisk, Processes: d.place.Processes,
		Seals:     seals,
		Memory:    b.Memory,
		Files:     o.Files,
		DataDir:   d.place.DataDir(),
		Dir:       d.place.Dir,
		Now:       d.place.Now,
		Random:    d.place.Random,
		Who:       d.place.Who,
		Saving:    d.place.Saving,
		Damaged:   o.Damaged,
		Transfers: o.Transfers,
		Outlined:  o.Outlined,
		Program:   d.place.Program,
		Command:   d.place.Command,
		Version:   d.place.Dialect.Version(),
		Registry:  d.place.Dialect.Registry(),
		Notice:    d.place.Notice,
		Problem:   d.place.Problem,
		Memo:      d.place.Memo,
		Notes:     d.place.Notes,
	}
	if n, err := strconv.Atoi(d.place.Environ["TF_STATE_PERSIST_INTERVAL"]); err == nil && n > 0 {
		options.Interval = max(time.Duration(n)*time.Second, leastInterval)
	}
	return options, diags
}

// seals is how states are encrypted.
func (d *Keeper) seals() (encryption.State, diag.List) {
	all, diags := d.settings.Encryption()
	return all.State(), diags
}
