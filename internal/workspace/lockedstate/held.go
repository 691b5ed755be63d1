package lockedstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/readlimit"
)

// A run on a state that isn't on this machine keeps the journal in its data
// directory. Beside it stands, before it takes the lock, which process it is. When a
// run finds a lock that was left behind, that file says whether the journal of the
// run that left it would be here: if not, nobody here knows what that run did.

// heldPath is the file of a process. Each has its own, so that those that wait for the lock,
// or learn that they can't have it, do nothing to the others.
func (s *Session) heldPath(process string) string {
	sum := sha256.Sum256([]byte(process))
	return s.heldPrefix() + hex.EncodeToString(sum[:])[:12] + heldSuffix
}

const heldSuffix = ".lock"

func (s *Session) heldPrefix() string { return strings.TrimSuffix(s.mainJournal(), ".journal") + "." }

// hold notes that this process is about to take the lock.
func (s *Session) hold() error {
	path, process := s.heldPath(s.Processes.This()), s.Processes.This()
	if process == "" || !s.remote() || exists(path) {
		return nil
	}
	if err := s.Disk.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return s.writeHeld(path, process)
}

// writeHeld notes which process has the lock, or continues with the lock, of the process that
// the file is named by. A copy of the file elsewhere says nothing.
func (s *Session) writeHeld(path, process string) error {
	return s.Disk.Replace(path, []byte(process+"\n"+whereabouts(path)), 0o600)
}

// whereabouts is the folder of a file, by whatever way one comes there.
func whereabouts(path string) string {
	folder := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	return folder
}

// readHeld is which process continues with a lock; here is whether the file was written where
// it is.
func readHeld(path string) (process string, here bool, err error) {
	text, err := readlimit.File(path)
	process, folder, _ := strings.Cut(string(text), "\n")
	return process, folder == whereabouts(path), err
}

// letGo forgets that this process had the lock, or wanted it, unless it may still get it: then
// the caller that has the lock next forgets it.
func (s *Session) letGo() {
	if s.inherited != "" {
		_ = s.Disk.Remove(s.inherited)
	}
	if s.unanswered() {
		return
	}
	if path := s.heldPath(s.Processes.This()); s.remote() && exists(path) {
		_ = s.Disk.Remove(path) // a lock that nobody has says nothing
	}
}

// unanswered reports whether a request for the lock may still take it.
func (s *Session) unanswered() bool {
	store, ok := s.store.Store.(storage.Unanswered)
	return ok && store.Unanswered()
}

// tidy forgets processes that have ended: what they did is resolved, or in the journal of the
// one that has the lock now.
func (s *Session) tidy() {
	if !s.remote() {
		return
	}
	files, _ := filepath.Glob(s.heldPrefix() + "*" + heldSuffix)
	for _, path := range files {
		if process, _, err := readHeld(path); err == nil && s.Processes.Gone(process) {
			_ = s.Disk.Remove(path)
		}
	}
}

// journalElsewhere rejects to take over a lock whose holder kept its journal in another place,
// or in one that was removed since.
func (s *Session) journalElsewhere(ctx context.Context, left storage.LockInfo) error {
	if storage.KeepsNothing(left.Operation) || !s.remote() {
		return nil
	}
	if store, ok := s.takesNotes(); ok {
		if _, err := store.Note(ctx); err == nil {
			return nil // what it was creating is noted beside the state
		}
	}
	if _, here, err := readHeld(s.heldPath(left.Info)); err == nil && here {
		return s.hold() // who only plans hasn't yet
	}
	return diag.Say("The run that holds the lock has ended without releasing it, and what it did is not known here: its journal isn't in %s. Objects may exist that the state doesn't have, and would be created a second time.\n\nIf it ran in another directory of this machine, run the same command there. If its data directory is gone, look for such objects first, then release the lock, import them, and go on:\n    %s", filepath.Dir(s.journalPath()), command(s.Program, "force-unlock", left.ID))
}

// inherit continues with a lock that a process left behind which has noted so here. The file
// says who does, so that there is no moment without the lock. The caller is the only one on
// this machine that is about to.
func (s *Session) inherit(left storage.LockInfo) (bool, error) {
	store, ok := s.store.Store.(storage.Lasting)
	path := s.heldPath(left.Info)
	if !ok || !s.remote() || s.Processes.This() == "" {
		return false, nil
	}
	process, here, err := readHeld(path)
	switch {
	case err != nil || !here:
		return false, nil // of a run that only planned
	case process != left.Info && !s.Processes.Gone(process):
		return false, fmt.Errorf("a run on this machine (%s) has taken the lock over", process)
	}
	if err := s.writeHeld(path, s.Processes.This()); err != nil {
		// Only the journal here may know what that run did, so nobody may release its lock.
		return false, fmt.Errorf("this run can't note in %s that it continues with the lock: %w", path, err)
	}
	store.Inherit(left)
	s.inherited, s.ancestor = path, left.Info
	return true, nil
}

// handBack says that nobody continues with the lock that stays: this process may have more to
// do with the state, and doesn't end before.
func (s *Session) handBack() {
	if s.inherited != "" {
		_ = s.writeHeld(s.inherited, s.ancestor) // or the next one waits until this process has ended
	}
}

// stays reports whether the lock has to stay when this run ends: what it, or one
// before it, leaves unsettled is known only here, and those who lock the state
// elsewhere would create it a second time. A journal that wasn't read, because the state was unreadable, counts as unresolved.
func (s *Session) stays() bool {
	_, lasting := s.store.Store.(storage.Lasting)
	_, notes := s.takesNotes()
	unsettled := s.unsaved || len(s.doubts) > 0 || !s.recovered && exists(s.journalPath())
	return unsettled && lasting && !notes && s.remote() && (s.inherited != "" || exists(s.heldPath(s.Processes.This())))
}
