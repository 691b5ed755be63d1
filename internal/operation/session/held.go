package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/state/storage"
)

// A run on a state that isn't on this machine keeps the journal in its data
// directory. Beside it stands, before it takes the lock, which process it is. When a
// run finds a lock that was left behind, that file says whether the journal of the
// run that left it would be here: if not, nobody here knows what that run did.

// plans is the operation of locks under which nothing is journalled.
const plans = "plan"

// heldPath is the file of a process. Each has its own, so that those that wait for the
// lock, or are told that they can't have it, do nothing to the others.
func (s *Session) heldPath(process string) string {
	sum := sha256.Sum256([]byte(process))
	return s.heldPrefix() + hex.EncodeToString(sum[:])[:12] + heldSuffix
}

const heldSuffix = ".lock"

func (s *Session) heldPrefix() string { return strings.TrimSuffix(s.journalPath(), ".journal") + "." }

// hold notes that this process is about to take the lock.
func (s *Session) hold() error {
	path, process := s.heldPath(s.Processes.This()), s.Processes.This()
	if process == "" || !s.remote() || exists(path) {
		return nil
	}
	if err := s.Disk.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return s.Disk.Replace(path, []byte(process), 0o600)
}

// letGo forgets that this process had the lock, or wanted it, unless it may still get it:
// then whoever has the lock next forgets it.
func (s *Session) letGo() {
	if store, ok := s.store.Store.(storage.Unanswered); ok && store.Unanswered() {
		return
	}
	if path := s.heldPath(s.Processes.This()); s.remote() && exists(path) {
		_ = s.Disk.Remove(path) // a lock that nobody has says nothing
	}
}

// tidy forgets processes that have ended: what they did is settled, or in the journal of
// the one that has the lock now.
func (s *Session) tidy() {
	if !s.remote() {
		return
	}
	files, _ := filepath.Glob(s.heldPrefix() + "*" + heldSuffix)
	for _, path := range files {
		if process, err := os.ReadFile(path); err == nil && s.Processes.Gone(string(process)) {
			_ = s.Disk.Remove(path)
		}
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
	if exists(s.heldPath(left.Info)) {
		return s.hold() // who only plans hasn't yet
	}
	return fmt.Errorf("The run that holds the lock has ended without releasing it, and what it did is not known here: its journal isn't in %s. Objects may exist that the state doesn't have, and would be created a second time.\n\nIf it ran in another directory of this machine, run the same command there. If its data directory is gone, look for such objects first, then release the lock, import them, and go on:\n    %s force-unlock %s", filepath.Dir(s.journalPath()), s.Program, left.ID)
}
