// Package storage defines the interface of state backends: the bytes of a state and one lock
// for each workspace.
//
// It owns the contract of backends, the lock's information, waiting for a lock, and how a
// backend is found by the name that configurations use. It doesn't know what the bytes mean
// (package statefile), when they are written, and what is instructed to the user meanwhile.
//
// Backends are in packages below this one; package backends lists them. Each
// passes the suite of package storagetest.
package storage

import (
	"context"
	"errors"
	"sync"
	"time"
)

// DefaultWorkspace is the workspace that always exists.
const DefaultWorkspace = "default"

// ErrWorkspacesNotSupported is returned by backends with one state only.
var ErrWorkspacesNotSupported = errors.New("workspaces not supported")

// ErrNoDefaultWorkspace is returned for the default workspace by an Undefaulted backend.
var ErrNoDefaultWorkspace = errors.New("there is no default workspace here: create another one with \"workspace new\", or select it with \"workspace select\"")

// ErrEmptyState is returned for a state that is there without content, which no
// engine writes: a crash, a full disk or somebody by mistake did that.
var ErrEmptyState = errors.New("the state is empty")

// ErrChanged is returned instead of writing over what somebody else wrote.
var ErrChanged = errors.New("the state was changed by somebody else after it was read, and what they wrote was kept")

// A Backend is a place with states. Its methods may be called at the same
// time.
type Backend interface {
	// Workspaces lists the workspaces in order, the default one first whether
	// or not it has a state. Backends with one state only return
	// ErrWorkspacesNotSupported.
	Workspaces(ctx context.Context) ([]string, error)
	// CreateWorkspace makes sure that the workspace is listed, even before a
	// state was written to it.
	CreateWorkspace(ctx context.Context, name string) error
	// DeleteWorkspace removes the workspace and its state. The default
	// workspace can't be removed. That nothing is lost is up to the caller.
	DeleteWorkspace(ctx context.Context, name string) error
	// State opens the state of a workspace. It touches nothing; a state that doesn't exist
	// reads as nil and becomes with the first Write.
	State(name string) (Store, error)
	// Place reports the state of a workspace from all others, by its address. It has no
	// credentials, so that it stays the same when these change.
	Place(name string) string
}

// A Journaled Backend has its states on this machine, so that the journals of
// applies can be beside them.
type Journaled interface {
	// JournalPath is the file for the journal of a workspace.
	JournalPath(workspace string) string
}

// A Filed Backend has its states in files, which the command line may name instead.
type Filed interface {
	// WithFiles is the same backend with other files.
	WithFiles(o Override) Backend
	// Paths are the files of a workspace.
	Paths(workspace string) Paths
}

// Override is what the command line says about files; empty fields say
// nothing. They hold for any workspace.
type Override struct {
	State    string // -state: read from here
	StateOut string // -state-out: write to there
	Backup   string // -backup: "-" for none
	// Recode makes of the content before what is kept as the backup; nil keeps
	// it as it is.
	Recode func(old []byte) ([]byte, error)
}

// Paths are the files of one workspace, as the user would write them. Backup
// is empty when none is made.
type Paths struct {
	In, Out, Backup string
}

// A Parted Backend takes states apart before it keeps them, so that it encrypts the
// parts itself.
type Parted interface {
	// Sealed is the same backend with encryption.
	Sealed(c Crypt) Backend
}

// An Undefaulted Backend has workspaces that a service gave their names, and may lack
// the default one. It lists only those that are there.
type Undefaulted interface {
	// Undefaulted reports whether there is no default workspace.
	Undefaulted() bool
	// Only is the name of the workspace where there can be no other, "" otherwise.
	Only() string
}

// An Executor is a Backend whose service plans and applies itself, if it is set up for it.
type Executor interface {
	// Elsewhere says, as a sentence, why plans and applies of a workspace aren't made
	// here, "" where they are.
	Elsewhere(ctx context.Context, workspace string) (why string, err error)
	// Variables are the values that the service would use for a workspace.
	Variables(ctx context.Context, workspace string) ([]Variable, error)
}

// A Variable is a value of an input variable that a service keeps.
type Variable struct {
	Name, Value string
	Expression  bool // Value is an expression, and not a text
	Hidden      bool // Value isn't reported
}

// A Placeholder is a Store whose lock needs something to hold on to where there is no
// state yet.
type Placeholder interface {
	// Placeholder says what a state looks like that nobody has written yet. Lock puts
	// it in place of none, where Read doesn't see it, and Unlock removes it
	// again. A run that is killed leaves it behind, and others read it, so it
	// has to mean the same as no state. It is never kept as a backup.
	Placeholder(content []byte) error
}

// A Held is a Store that can tell who holds its lock without taking it.
type Held interface {
	// Holder is who holds the lock by what is stored, nil for nobody. Anyone who has ended
	// without releasing it may still be there. An error may be that what is stored can't be
	// read.
	Holder(ctx context.Context) (*LockInfo, error)
}

// An Unanswered is a Store whose requests can get lost.
type Unanswered interface {
	// Unanswered reports whether the lock was asked for without an answer. That request
	// may still take the lock, also when this run has ended.
	Unanswered() bool
}

// A Lasting is a Store whose lock lasts until it is released, whatever becomes of the
// process that took it, and is known by its id alone.
type Lasting interface {
	// Inherit has this Store go on with a lock that another one has taken.
	Inherit(info LockInfo)
}

// ErrNoNotes is returned by a Noted where this user or this place can't have notes.
var ErrNoNotes = errors.New("notes can't be kept beside the state")

// Notes has notes in memory for stores without room for them. Nobody else sees them, and
// they end with the process.
type Notes struct {
	mu  sync.Mutex
	all map[string][]byte // by the place of the state
}

// Of has the note of the state in a place.
func (n *Notes) Of(place string) Noted { return remembered{n, place} }

type remembered struct {
	*Notes
	place string
}

// Note implements Noted.
func (r remembered) Note(context.Context) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[r.place], nil
}

// SetNote implements Noted.
func (r remembered) SetNote(_ context.Context, note []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string][]byte{}
	}
	r.all[r.place] = note
	return nil
}

// A Noted is a Store with room beside the state for what a run is about to do, which
// any machine sees. Notes go with the workspace.
type Noted interface {
	// Note returns what SetNote has put there last, nil for nothing.
	Note(ctx context.Context) ([]byte, error)
	// SetNote replaces the note; nil removes it. The holder of the lock may do so.
	SetNote(ctx context.Context, note []byte) error
}

// A Concurrent is a Store for which several plans are made at a time. A plan takes no lock, because
// Read returns one moment. A saved plan fits every later state that has what the plan has read.
// Other stores keep the rules of OpenTofu: a plan takes the lock, and fits only the state that it
// was made from.
//
// Several applies run at a time, too, if each knows which parts of the state it needs. Parts are
// addresses of instances, and outputs as "output.NAME".
type Concurrent interface {
	// LockParts takes the lock of parts of the state, all at once or none: nobody else may read or
	// write those of write, or write those of read. The lock of the state excludes all such locks.
	// The error is a *LockError if somebody has one of them, and ErrNoParts where only the lock of
	// the state will do. Unlock releases the lock. Meanwhile Write changes only the parts that
	// differ from what this Store has read, and keeps what others write. If others have changed
	// these, the error is ErrChanged.
	LockParts(ctx context.Context, info LockInfo, write, read []string) (id string, err error)
	// Wrote is the serial of the state that Write has made of its own parts and those of others.
	Wrote() uint64
	// Notes returns what SetNote has put beside the state, by all runs that hold no lock any more.
	// The lock of the state replaces all of them.
	Notes(ctx context.Context) ([][]byte, error)
}

// ErrNoParts is returned by LockParts where a run has left something, or no parts are stored yet.
var ErrNoParts = errors.New("parts of the state can't be locked")

// A Queryable is a Backend that answers queries in SQL about its states.
type Queryable interface {
	// Query runs one statement that changes nothing. Values are nil, numbers, booleans and texts.
	Query(ctx context.Context, text string) (columns []string, rows [][]any, err error)
}

// EarlierStates is how many earlier states of a workspace are kept.
const EarlierStates = 20

// A Historian is a Store that keeps earlier states, and who wrote each state, beside the state.
type Historian interface {
	// Earlier lists the states that were replaced, the latest first.
	Earlier(ctx context.Context) ([]EarlierState, error)
	ReadEarlier(ctx context.Context, serial uint64) ([]byte, error)
	// Record keeps who wrote the state with a serial.
	Record(ctx context.Context, serial uint64, run []byte) error
	// Records are those of the states that are kept, the latest first.
	Records(ctx context.Context) ([][]byte, error)
}

// An EarlierState is a state that was replaced.
type EarlierState struct {
	Serial uint64
	Until  time.Time // when
}

// A Preparer is a Store that can tell before an apply whether it could save the
// outcome.
type Preparer interface {
	// Prepare fails when a state of about that many bytes couldn't be written
	// twice.
	Prepare(ctx context.Context, size int64) error
}

// A Store is the state of one workspace.
type Store interface {
	// Read returns what was written last, nil when there is no state. One
	// without content is an ErrEmptyState.
	Read(ctx context.Context) ([]byte, error)
	// Write replaces the state that this Store has read or written last. If it
	// isn't that any more, whatever the lock says, the error is ErrChanged and
	// nothing is written; without a Read that succeeded any state is replaced.
	// After an error, or a crash meanwhile, Read returns either the old or the
	// new state, never a mixture.
	Write(ctx context.Context, state []byte) error
	// Lock takes the lock and returns the id to release it with, which is
	// empty when the backend was configured without a lock. When someone else
	// holds it the error is a *LockError; Lock doesn't wait.
	Lock(ctx context.Context, info LockInfo) (id string, err error)
	// Unlock releases the lock. With the id of a lock that another run left behind it releases
	// that one. A *LockError reports another id.
	Unlock(ctx context.Context, id string) error
}

// NoState is what the place of a workspace has before a state was written. Other programs read
// it as a state without anything in it.
const NoState = `{"version":4,"terraform_version":"1.12.6","serial":0,"lineage":"","outputs":{},"resources":[],"check_results":null}`
