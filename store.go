package weir

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// A Store keeps states: for each workspace the bytes of a state and a lock. Its
// methods may be called at the same time, also by other processes for the same
// states.
type Store interface {
	// Read returns the state of a workspace, and a version that distinguishes it from all
	// others the workspace had. Where there is no state both are empty.
	Read(ctx context.Context, workspace string) (state []byte, version string, err error)
	// Write replaces the state of that version, or none where it is empty, and
	// returns the new one's. If another is there by now it returns ErrChanged and
	// writes nothing. After an error either the old or the new state is there.
	Write(ctx context.Context, workspace string, state []byte, replaces string) (version string, err error)
	// Lock takes the lock of a workspace, and doesn't wait. If somebody has it the
	// error is a *LockedError.
	Lock(ctx context.Context, workspace string, info LockInfo) error
	// Unlock releases the lock with that id.
	Unlock(ctx context.Context, workspace, id string) error
	// Workspaces lists those that have a state.
	Workspaces(ctx context.Context) ([]string, error)
}

// A NoteStore is a [Store] with room for a note beside each state: what an apply is about to
// create. After a crash the next run knows from it what may exist, wherever it is.
type NoteStore interface {
	Store
	// ReadNote returns what WriteNote has put there last, nil for nothing.
	ReadNote(ctx context.Context, workspace string) (note []byte, err error)
	// WriteNote replaces the note of a workspace; nil removes it. It is called under the
	// lock, and mustn't return before the note would survive a crash.
	WriteNote(ctx context.Context, workspace string, note []byte) error
}

// LockInfo reports who has a lock.
type LockInfo struct {
	ID        string
	Operation string
	Who       string
	Version   string
	Created   time.Time
	// Process reports which process it is, by which a lock that was left behind is found. It
	// has to be kept as it is.
	Process string
}

func lockInfo(i storage.LockInfo) LockInfo {
	return LockInfo{ID: i.ID, Operation: i.Operation, Who: i.Who, Version: i.Version, Created: i.Created, Process: i.Info}
}

// A kept is a Store as the engine uses it.
type kept struct{ Store }

// hereStates also say where journals would be on this machine, so that none is
// looked for elsewhere.
type hereStates struct {
	kept
	dir string
}

func newStates(s Store, here bool, dir string) storage.Backend {
	if here {
		return hereStates{kept{s}, dir}
	}
	return kept{s}
}

// JournalPath implements storage.Journaled.
func (h hereStates) JournalPath(workspace string) string {
	return filepath.Join(h.dir, "journals", workspace+".journal")
}

// Workspaces implements storage.Backend.
func (s kept) Workspaces(ctx context.Context) ([]string, error) {
	names, err := s.Store.Workspaces(ctx)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == storage.DefaultWorkspace })
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, names...), err
}

// CreateWorkspace implements storage.Backend: they become with their state.
func (s kept) CreateWorkspace(context.Context, string) error { return nil }

// DeleteWorkspace implements storage.Backend.
func (s kept) DeleteWorkspace(context.Context, string) error { return errors.ErrUnsupported }

// Place implements storage.Backend.
func (s kept) Place(name string) string { return "store/" + name }

// State implements storage.Backend.
func (s kept) State(name string) (storage.Store, error) {
	state := stored{store: s.Store, workspace: name}
	if notes, ok := s.Store.(NoteStore); ok {
		return &noted{state, notes}, nil
	}
	return &state, nil
}

// noted is the state of a workspace with a note beside it.
type noted struct {
	stored
	notes NoteStore
}

// Note implements storage.Noted.
func (n *noted) Note(ctx context.Context) ([]byte, error) { return n.notes.ReadNote(ctx, n.workspace) }

// SetNote implements storage.Noted.
func (n *noted) SetNote(ctx context.Context, note []byte) error {
	return n.notes.WriteNote(ctx, n.workspace, note)
}

// stored is the state of a workspace, with the version that Write replaces.
type stored struct {
	store     Store
	workspace string
	known     bool
	version   string
}

func (s *stored) Read(ctx context.Context) ([]byte, error) {
	state, version, err := s.store.Read(ctx, s.workspace)
	if err == nil {
		s.known, s.version = true, version
	}
	return state, err
}

func (s *stored) Write(ctx context.Context, state []byte) error {
	if !s.known {
		if _, err := s.Read(ctx); err != nil {
			return err
		}
	}
	version, err := s.store.Write(ctx, s.workspace, state, s.version)
	if errors.Is(err, ErrChanged) {
		return storage.ErrChanged
	}
	if err == nil {
		s.version = version
	}
	return err
}

func (s *stored) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	return info.ID, held(s.store.Lock(ctx, s.workspace, lockInfo(info)))
}

func (s *stored) Unlock(ctx context.Context, id string) error {
	return held(s.store.Unlock(ctx, s.workspace, id))
}

// held is an error as the engine knows it.
func held(err error) error {
	var e *LockedError
	switch {
	case errors.As(err, &e):
		h := e.Holder
		return &storage.LockError{Err: errors.New("state is locked"), Holder: &storage.LockInfo{ID: h.ID, Operation: h.Operation, Info: h.Process, Who: h.Who, Version: h.Version, Created: h.Created}}
	case errors.Is(err, ErrLocked):
		return &storage.LockError{Err: err}
	}
	return err
}
