package lockedstate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
)

// A run that knows which parts of the state it needs locks these, if the store can do that
// (storage.Concurrent). Its journal has a name of its own, because other runs have theirs beside
// it. Whatever a run has left is for the next one with the lock of the state, so a run that finds
// something takes that lock instead.

// partLock takes the lock of parts for storage.Acquire.
type partLock struct {
	storage.Store
	concurrent  storage.Concurrent
	write, read []string
}

// Lock implements storage.Store.
func (p partLock) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	return p.concurrent.LockParts(ctx, info, p.write, p.read)
}

// concurrent is the store if several runs work on its state at a time. They have to know the
// journals of runs that are under way.
func (s *Session) concurrent() (storage.Concurrent, bool) {
	c, ok := s.store.Store.(storage.Concurrent)
	return c, ok && !s.elsewhere && journal.KnowsBusy
}

// Concurrent reports whether plans take no lock (storage.Concurrent).
func (s *Session) Concurrent() bool {
	_, ok := s.concurrent()
	return ok
}

// Unlocked reports whether this run has no lock and will need one to write.
func (s *Session) Unlocked() bool { return s.unlocked }

// errLeft is why a run doesn't take over a lock of parts: nobody has finished the journal.
var errLeft = errors.New("a run has ended without releasing its lock")

// LockParts locks the parts of the state that a run without a lock writes and reads, and reads the
// state again. It locks the whole state if an earlier run has left something there.
func (l *Claimed) LockParts(ctx context.Context, write, read []string) diag.List {
	s := l.Session
	s.unlocked = false
	c, _ := s.concurrent()
	var diags diag.List
	if s.store.Migrating() || s.folded || len(s.doubts) > 0 {
		_, diags = s.take(ctx, s.store, s.locking)
	} else {
		s.parts = true
		_, diags = s.take(ctx, partLock{s.store, c, write, read}, s.locking)
		left := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return errors.Is(d.Err, storage.ErrNoParts) || errors.Is(d.Err, errLeft) })
		if !diags.HasErrors() {
			others, problems := s.otherJournals()
			left = len(others) > 0 || problems.HasErrors() || s.abandoned(s.mainJournal())
		}
		if left {
			s.unlock()
			s.parts, s.suffix, s.claimed = false, "", true
			_, diags = s.take(ctx, s.store, s.locking)
		}
	}
	if diags.HasErrors() {
		return diags
	}
	return append(diags, s.read(ctx)...)
}

// leftBy is the id of the lock of a process that has ended, if an error names it, empty otherwise.
func (s *Session) leftBy(err error) string {
	var held *storage.LockError
	if s.Concurrent() && errors.As(err, &held) && held.Holder != nil && s.Processes.Gone(held.Holder.Info) {
		return held.Holder.ID
	}
	return ""
}

// otherPattern is what the names of journals of runs on parts of the state end with: the lock.
var otherPattern = lazyregexp.New(`\.journal\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// others are the journals of runs on parts of the state.
func (s *Session) others() (paths []string) {
	if !s.Concurrent() {
		return nil
	}
	main := s.mainJournal()
	entries, _ := os.ReadDir(filepath.Dir(main)) // without a folder none exists
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(main), e.Name())
		if strings.HasPrefix(path, main+".") && otherPattern.Get().MatchString(path[len(main)-len(".journal"):]) && path != s.journalPath() {
			paths = append(paths, path)
		}
	}
	return paths
}

// journals are all journals of the state.
func (s *Session) journals() []string {
	list := s.others()
	if main := s.mainJournal(); exists(main) {
		list = append(list, main)
	}
	return list
}

// abandoned reports whether a journal is there and nobody writes it.
func (s *Session) abandoned(path string) bool {
	_, err := s.readJournal(path)
	return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errJournalBusy)
}

// otherJournals reads the journals of runs on parts of the state that have ended.
func (s *Session) otherJournals() (map[string]*journal.Log, diag.List) {
	logs := map[string]*journal.Log{}
	for _, path := range s.others() {
		l, err := s.readJournal(path)
		if err == nil && !l.Sealed {
			err = s.Seals.Clear()
		}
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, errJournalBusy):
		case err != nil:
			return nil, s.unreadable(path, err)
		default:
			logs[path] = l
		}
	}
	return logs, nil
}

// recoverOther folds the journal of a run on parts of the state into what is known by now.
func (s *Session) recoverOther(ctx context.Context, path string, l *journal.Log) diag.List {
	rec, err := l.Fold(s.known, "-") // others may have written since
	switch {
	case err != nil:
		return s.unusable(path, err)
	case rec.Foreign:
		return s.foreign(path, l)
	case l.Damaged > 0 && !s.Damaged:
		return s.damaged(path, l, rec)
	}
	settled := s.doubt(rec.InDoubt)
	var diags diag.List
	if len(rec.Folded) > 0 || len(settled) > 0 || len(rec.Invoking) > 0 || l.Damaged > 0 || len(rec.Conflicts) > 0 {
		diags.Append(interrupted(path, l, rec, settled))
	}
	diags.Append(s.inDoubt())
	s.adopt(rec.State)
	if s.lockID == "" {
		s.folded = true
		return diags
	}
	if len(rec.Folded) > 0 {
		if err := s.keepFound(ctx, rec.State); err != nil {
			return append(diags, NotSaved.As("Failed to save the recovered state").New(diag.Error, "Saving the state with what the journal %s knows: %s. The journal is kept; run the command again once the cause is removed.", path, err))
		}
	}
	err = s.settle(s.doubts)
	if err == nil {
		err = journal.Discard(s.Disk, path)
	}
	if err != nil {
		diags.Add(diag.Unwritable.As("Failed to end the journal").New(diag.Error, "The state is saved, but the journal %s can't be replaced: %s.", path, diag.Cause(err)))
	}
	return diags
}

// doubt adds creations to what is in doubt, and returns the other operations, which refreshing
// resolves.
func (s *Session) doubt(open []journal.Operation) (settled []journal.Operation) {
	for _, o := range open {
		if o.Action == journal.Create {
			s.doubts = append(s.doubts, o)
		} else {
			settled = append(settled, o)
		}
	}
	return settled
}
