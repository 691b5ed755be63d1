// Package workspace is what one command does on one state: find the inputs, the
// backend, the encryption and the providers of a directory, load it, lock and
// read its state, plan, apply what was approved, and keep what came of it.
//
// It owns the order of these steps, whoever asks for them. It refuses flags,
// terminals and words about what was done, and takes from its caller what a
// process has only once: directories, environment, clock, randomness, answers
// of people. So any number of operations can be under way in one process.
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
	*backendinit.Reader
	*statemgr.Keeper
	*providersource.Supplier
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
	return &Directory{Reader: r, Keeper: &statemgr.Keeper{Reader: r}, Supplier: &providersource.Supplier{Reader: r}}
}

// With is the same directory for operations that tell elsewhere. What it opens it
// closes itself.
func (d *Directory) With(r environment.Reports) *Directory {
	next := directory(d.Reader.With(r))
	next.About, next.before, next.Programs, next.Kept = d.About, d.before, d.Programs, d.Kept
	return next
}
