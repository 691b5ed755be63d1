package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/state/storage"
)

// A run on a state that isn't on this machine keeps the journal in its data
// directory. Beside it stands the id of the lock that the run holds. When a run
// finds a lock that was left behind, that file says whether the journal of the
// run that left it would be here: if not, nobody here knows what that run did.

// plans is the operation of locks under which nothing is journalled.
const plans = "plan"

func (s *Session) heldPath() string {
	return strings.TrimSuffix(s.journalPath(), ".journal") + ".lock"
}

// hold notes the lock that this run has.
func (s *Session) hold(id, operation string) error {
	if id == "" || operation == plans || !s.remote() {
		return nil
	}
	path := s.heldPath()
	if err := s.Disk.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return s.Disk.Replace(path, []byte(id), 0o600)
}

// letGo forgets the lock that this run had.
func (s *Session) letGo() {
	if s.remote() {
		_ = s.Disk.Remove(s.heldPath()) // a lock that nobody has says nothing
	}
}

// journalElsewhere refuses to take over a lock whose holder kept its journal in
// another place, or in one that was removed since.
func (s *Session) journalElsewhere(ctx context.Context, left storage.LockInfo) error {
	if left.Operation == plans || !s.remote() {
		return nil
	}
	if store, ok := s.takesNotes(); ok {
		if _, err := store.Note(ctx); err == nil {
			return nil // what it was creating is noted beside the state
		}
	}
	if held, err := os.ReadFile(s.heldPath()); err == nil && string(held) == left.ID {
		return nil
	}
	return fmt.Errorf("The run that holds the lock has ended without releasing it, and what it did is not known here: its journal isn't in %s. Objects may exist that the state doesn't have, and would be created a second time.\n\nIf it ran in another directory of this machine, run the same command there. If its data directory is gone, look for such objects first, then release the lock, import them, and go on:\n    %s force-unlock %s", filepath.Dir(s.journalPath()), s.Program, left.ID)
}
