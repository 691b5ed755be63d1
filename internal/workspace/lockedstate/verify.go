package lockedstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/readlimit"
)

// A Finding is what is to be said of one thing that is kept of a state.
type Finding struct {
	What string
	Said string // where it can be read
	// Unfinished: a run hasn't ended properly. Held: somebody holds the lock.
	Unfinished, Held bool
	Problems         diag.List
}

// Verify reads all that is kept of the state, and changes nothing. Problems are
// errors where something is damaged, and say how to go on.
func (s *Session) Verify(ctx context.Context) []Finding {
	now, stored := s.verifyState(ctx)
	list := []Finding{now}
	if slices.ContainsFunc(now.Problems, Unusable.Is) {
		return list // all else is there too
	}
	if l, ok := s.backend.WithFiles(s.Files).(storage.Filed); ok {
		if path := l.Paths(s.workspace).Backup; path != "" && exists(path) {
			list = append(list, verifyText("backup", path, s.readSealed(path), "Only a change of the state would use it, by replacing it: remove the file, or leave it until then."))
		}
	}
	for _, k := range s.History() {
		list = append(list, verifyText("earlier state", k.name, k.read, s.withoutEarlier()))
	}
	for _, path := range append([]string{s.mainJournal()}, s.others()...) {
		list = append(list, s.verifyJournal(path, stored))
	}
	if _, ok := s.takesNotes(); ok {
		logs, diags := s.readNotes(ctx, nil)
		if len(logs) == 0 {
			list = append(list, Finding{What: "note", Said: "none", Problems: diags})
		}
		for _, l := range logs {
			list = append(list, Finding{What: "note", Said: "of a run that didn't end, by " + l.Begin.Who, Unfinished: true})
		}
	}
	return append(list, s.verifyLock(ctx))
}

func (s *Session) verifyState(ctx context.Context) (Finding, *state.Snapshot) {
	f := Finding{What: "state"}
	data, err := s.store.Read(ctx)
	if err == nil && data != nil && len(bytes.TrimSpace(data)) == 0 {
		err = storage.ErrEmptyState
	}
	switch {
	case errors.Is(err, storage.ErrEmptyState):
		f.Problems = s.emptied()
		return f, nil
	case errors.As(err, new(*storage.UnusableError)):
		f.Problems = Unusable.List("%s.", err)
		return f, nil
	case err != nil:
		f.Problems = s.torn(diag.StateUnreadable.List("%s.", err))
		return f, nil
	}
	snapshot, diags := statefile.Read(data, s.backend.Describe())
	if f.Problems = diags; diags.HasErrors() {
		f.Problems = s.torn(diags)
		return f, nil
	}
	s.saved, s.base = contentOf(data), snapshot
	f.Said = "none"
	if snapshot != nil {
		f.Said = fmt.Sprintf("serial %d, lineage %s, %s", snapshot.Serial, snapshot.Lineage, objects(snapshot))
	}
	return f, snapshot
}

// withoutEarlier says what to do about an earlier state that can't be read.
func (s *Session) withoutEarlier() string {
	const use = "Earlier states are only used to go back to them, and this one can't be gone back to"
	if _, ok := s.historian(); ok {
		return use + "."
	}
	return use + ": remove the file."
}

// readSealed reads a file that is encrypted as states are.
func (s *Session) readSealed(path string) func() ([]byte, error) {
	return func() ([]byte, error) {
		data, err := readlimit.File(path)
		if err != nil {
			return nil, errors.New(diag.Cause(err))
		}
		data, _, err = s.Seals.Open(data)
		return data, err
	}
}

// verifyText reads a state that is kept beside the present one.
func verifyText(what, path string, read func() ([]byte, error), wayOut string) Finding {
	f := Finding{What: what}
	data, err := read()
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = storage.ErrEmptyState
	}
	if err != nil {
		f.Problems = diag.StateUnreadable.As("Unreadable earlier state").List("%s: %s. %s", path, err, wayOut)
		return f
	}
	snapshot, diags := statefile.Read(data, path)
	if diags.HasErrors() {
		diags[0].Detail += " " + wayOut
		f.Problems = diags
		return f
	}
	f.Said = fmt.Sprintf("serial %d, %s", snapshot.Serial, objects(snapshot))
	return f
}

func objects(s *state.Snapshot) string {
	if n := len(s.Objects); n != 1 {
		return fmt.Sprintf("%d objects", n)
	}
	return "1 object"
}

func (s *Session) verifyJournal(path string, stored *state.Snapshot) Finding {
	f := Finding{What: "journal"}
	l, err := s.readJournal(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.Said = "none"
		return f
	case errors.Is(err, errJournalBusy):
		f.Said = "a run is writing it"
		return f
	case err != nil:
		f.Problems = s.unreadable(path, err)
		return f
	}
	rec, err := l.Fold(stored, s.digest())
	switch {
	case err != nil:
		f.Problems = s.unusable(path, err)
	case rec.Foreign:
		f.Problems = s.foreign(path, l)
	case l.Damaged > 0:
		f.Problems = s.damaged(path, l, rec)
	default:
		f.Unfinished = true
		f.Said = fmt.Sprintf("of a run that didn't end; %d results are to be saved, %d objects are in doubt", len(rec.Folded), creations(rec.InDoubt))
	}
	return f
}

func creations(list []journal.Operation) (n int) {
	for _, o := range list {
		if o.Action == journal.Create {
			n++
		}
	}
	return n
}

// verifyLock reads what is stored of the lock.
func (s *Session) verifyLock(ctx context.Context) Finding {
	f := Finding{What: "lock"}
	store, ok := s.store.Store.(storage.Held)
	if !ok {
		f.Said = "the backend doesn't report it"
		return f
	}
	holder, err := store.Holder(ctx)
	switch {
	case err != nil:
		f.Problems = Damaged.As("Unreadable lock").List("%s. No known program writes that. When you are sure that nobody works on the state, remove it by hand; the next run creates it again.", err)
	case holder == nil:
		f.Said = "nobody holds it"
	case s.Processes.Gone(holder.Info):
		f.Said = fmt.Sprintf("left behind by %s (%s), which has ended; ID %s", holder.Who, holder.Operation, holder.ID)
	default:
		f.Held = true
		f.Said = fmt.Sprintf("taken by %s (%s) at %s; ID %s", holder.Who, holder.Operation, holder.Created.Local().Format("2006-01-02 15:04:05"), holder.ID)
	}
	return f
}
