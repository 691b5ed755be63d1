// Package workspace runs one command on one state. It finds the inputs, backend, encryption
// and providers of a directory, loads it, locks and reads its state, plans, applies the
// approved plan, and saves the results.
//
// It owns the order of these steps, the caller that asks for them. It rejects flags, terminals
// and words about what was done, and takes from its caller what a process has only once:
// directories, environment, clock, randomness, answers of people. So any number of operations
// can be under way in one process.
package workspace

import (
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statemgr"
)

// A Directory is a working directory with what was found out about it: the place, the
// settings of its root module, its states and its providers. Its operations follow
// one another; With has others at the same time.
type Directory struct {
	Place     *environment.Place
	Settings  *backendinit.Reader
	States    *statemgr.Keeper
	Providers *providersource.Supplier
	// About is what commands on one configuration and one state are about: nil for
	// the configuration of the directory, or a deployment of the stack there.
	About *Subject
	// Programs are kept for the operations that follow; nil keeps none.
	Programs *engine.Programs
	// before are the directories of stacks whose outputs have led to this one.
	before []string
}

// New is the directory that the options name. Nothing is read yet.
func New(o environment.Options) *Directory { return directory(backendinit.New(environment.New(o))) }

func directory(r *backendinit.Reader) *Directory {
	d := &Directory{Place: r.Place, Settings: r, States: statemgr.New(r), Providers: providersource.New(r)}
	r.Stores = d.Providers.StateStore
	return d
}

// With is the same directory for operations that tell elsewhere. It closes everything that it opens.
func (d *Directory) With(r environment.Reports) *Directory {
	next := directory(d.Settings.With(r))
	next.About, next.before, next.Programs = d.About, d.before, d.Programs
	next.Providers.Kept, next.Providers.Shared = d.Providers.Kept, d.Providers.Shared
	return next
}

// RootIn is the directory of another root module, as seen from this one, in a workspace; "" is
// the selected one. Operations there report elsewhere.
func (d *Directory) RootIn(dir, workspace string, r environment.Reports) *Directory {
	p := d.Place.In(dir)
	at := p.Options
	at.Workspace, at.Reports = workspace, r
	return directory(backendinit.New(environment.New(at)))
}

// Close ends the providers and releases the locks that are left.
func (d *Directory) Close() { d.Place.Close() }
