package lockedstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/readlimit"
)

// journalPath is where the journal of this run is.
func (s *Session) journalPath() string { return s.mainJournal() + s.suffix }

// mainJournal is where the journal of the state is: beside it where the backend
// has it on this machine, and else in the data directory, under a name that the
// next run finds whatever credentials it has.
func (s *Session) mainJournal() string {
	if b, ok := s.backend.WithFiles(s.Files).(storage.Journaled); ok {
		return b.JournalPath(s.workspace)
	}
	sum := sha256.Sum256([]byte(s.backend.Place(s.workspace)))
	name := fmt.Sprintf("%s-%s-%s.journal", s.backend.Kind, s.workspace, hex.EncodeToString(sum[:])[:12])
	return filepath.Join(s.DataDir, "journals", name)
}

// remote reports whether the state isn't on this machine.
func (s *Session) remote() bool {
	_, here := s.backend.WithFiles(s.Files).(storage.Journaled)
	return !here
}

// journalBegin says which state a new journal is about.
func (s *Session) journalBegin() journal.Begin {
	if s.run == "" {
		s.run = newUUID(s.Random)
	}
	b := journal.Begin{Lineage: s.newLineage(), Base: s.digest(), Run: s.run, Who: s.Who(), Backend: s.backend.Kind, Workspace: s.workspace}
	if s.base != nil {
		b.Lineage, b.Serial = s.base.Lineage, s.base.Serial
	}
	return b
}

// keepDoubts leaves a journal that has only operations in doubt.
func (s *Session) keepDoubts(left []journal.Operation) error {
	w, err := journal.Start(s.Disk, s.journalPath(), s.journalBegin(), left, nil, s.sealsKeys())
	if err != nil {
		return err
	}
	return w.Close()
}

// recover folds what journals know into the state that was read. The result
// is saved if the session holds the lock; else it is only in memory.
func (s *Session) recover(ctx context.Context) diag.List {
	if s.parts {
		return nil // what runs leave is for the lock of the state
	}
	others, diags := s.otherJournals()
	if diags.HasErrors() {
		return diags
	}
	known := map[string]bool{}
	for _, l := range others {
		known[l.Begin.Run] = true
	}
	diags = s.recoverMain(ctx, known)
	for _, path := range slices.Sorted(maps.Keys(others)) {
		if diags.HasErrors() {
			break
		}
		diags.Append(s.recoverOther(ctx, path, others[path]))
	}
	return diags
}

// recoverMain does so with the journal of the state. Others are known to be here, by the runs.
func (s *Session) recoverMain(ctx context.Context, known map[string]bool) diag.List {
	path := s.mainJournal()
	l, err := s.readJournal(path)
	if err == nil && !l.Sealed {
		err = s.Seals.Clear()
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		s.doubts = nil
		_, diags := s.recoverNote(ctx, known)
		return append(diags, s.inDoubt()...)
	case errors.Is(err, errJournalBusy):
		s.unread = true
		return nil
	case err != nil:
		return s.unreadable(path, err)
	}
	rec, err := l.Fold(s.base, s.digest())
	switch {
	case err != nil:
		return s.unusable(path, err)
	case rec.Foreign:
		return s.foreign(path, l)
	}
	if l.Damaged > 0 && !s.Damaged {
		return s.damaged(path, l, rec)
	}
	if s.base == nil {
		s.lineage = l.Begin.Lineage
	}
	s.doubts = nil
	settled := s.doubt(rec.InDoubt)
	known[l.Begin.Run] = true
	later, noted := s.recoverNote(ctx, known)
	rec.Yield(s.base, later)
	var diags diag.List
	if len(rec.Folded) > 0 || len(settled) > 0 || len(rec.Invoking) > 0 || l.Damaged > 0 || len(rec.Conflicts) > 0 {
		diags.Append(interrupted(path, l, rec, settled))
	}
	diags.Append(noted)
	diags.Append(s.inDoubt())
	s.adopt(rec.State)
	if diags.HasErrors() {
		return diags
	}
	if s.lockID == "" {
		s.folded = true
		return diags
	}
	if len(rec.Folded) > 0 {
		if err := s.keepFound(ctx, rec.State); err != nil {
			diags.Add(NotSaved.As("Failed to save the recovered state").New(diag.Error, "Saving the state with what the journal %s knows: %s. The journal is kept; run the command again once the cause is removed.", path, err))
			return diags
		}
	}
	if len(s.doubts) > 0 && len(rec.Folded)+len(settled)+len(rec.Invoking) == 0 {
		return diags // the journal has nothing else
	}
	if err := s.settle(s.doubts); err != nil {
		diags.Add(diag.Unwritable.As("Failed to end the journal").New(diag.Error, "The state is saved, but the journal %s can't be replaced: %s.", path, diag.Cause(err)))
	}
	return diags
}

func (s *Session) unreadable(path string, err error) diag.List {
	return Damaged.As("Unreadable journal").List("The journal %s of an earlier run can't be read: %s. Results of that run may be missing in the state. Read the file, which is text unless it is encrypted, and import missing objects. Then move the file away.", path, diag.Cause(err))
}

func (s *Session) unusable(path string, err error) diag.List {
	return Damaged.As("Unreadable journal").List("The journal %s of an earlier run can't be used: %s. It may be of a newer version, which can recover it. Otherwise look into the file, which is text, and import what is missing in the state; then move the file away.", path, err)
}

func (s *Session) foreign(path string, l *journal.Log) diag.List {
	return diag.List{Foreign.New(diag.Error, "The journal %s belongs to a state of lineage %q, but the state has lineage %q. This state doesn't have the results of that run. Restore the right state, or move the journal away.", path, l.Begin.Lineage, s.base.Lineage)}
}

var errJournalBusy = errors.New("the journal is in use")

// emptied rejects a state file without content: taking it for "no state" would create
// everything a second time.
func (s *Session) emptied() diag.List {
	return Damaged.As("Empty state file").List("The state is there but empty, as a crash or a full disk leaves it. It is not taken for \"no state\", because everything would be created a second time.%s", s.wayOut())
}

// torn adds to what is wrong with a state how to get it back.
func (s *Session) torn(diags diag.List) diag.List {
	for i := range diags {
		if diags[i].Severity == diag.Error {
			out := s.wayOut()
			diags[i].Detail += out.String()
			diags[i].Commands = append(diags[i].Commands, out.Commands()...)
			break
		}
	}
	return diags
}

// wayOut says what to do with a state that can't be read, naming what is beside
// it.
func (s *Session) wayOut() diag.Text {
	var b strings.Builder
	here := false
	if l, ok := s.backend.WithFiles(s.Files).(storage.Filed); ok {
		p := l.Paths(s.workspace)
		here = true
		if info, err := os.Stat(p.Backup); p.Backup != "" && err == nil && info.Size() > 0 {
			fmt.Fprintf(&b, "\n\nThe state from before the last change is in %q. To go back to it, copy it over %q.", p.Backup, p.In)
		}
	}
	if path := s.journalPath(); exists(path) {
		fmt.Fprintf(&b, "\n\nThe journal %q has what the last run did. It is folded into the state as soon as that can be read again.", path)
	}
	last := ""
	if here {
		last = "\nIf there really is nothing that is managed, remove the file."
	}
	return diag.Say("%s\n\nAn intact copy can be put in place with:\n    %s%s", b.String(), command(s.Program, "state push", "-force FILE"), last)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readJournal reads a journal unless a run is writing it.
func (s *Session) readJournal(path string) (*journal.Log, error) {
	f, err := readlimit.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if journal.Busy(f) {
		return nil, errJournalBusy
	}
	return journal.Read(f, s.Seals.OpenKey)
}

// damaged stops at a journal that something other than a crash has changed: what
// it doesn't say any more may be objects that would be created a second time.
func (s *Session) damaged(path string, l *journal.Log, rec journal.Recovery) diag.List {
	var b strings.Builder
	fmt.Fprintf(&b, "The journal %s of an earlier run is damaged: %d of its lines were changed, or lines before them are missing. Its lines are lost, so objects may exist that aren't in the state.", path, l.Damaged)
	if len(rec.Folded) > 0 {
		b.WriteString("\n\nThe lines that can be read have the results of:")
		for _, at := range rec.Folded {
			fmt.Fprintf(&b, "\n  - %s", at)
		}
	}
	if len(rec.InDoubt) > 0 {
		b.WriteString("\n\nThey don't say what became of:")
		for _, o := range rec.InDoubt {
			fmt.Fprintf(&b, "\n  - %s (%s)", o.Object, o.Action)
		}
	}
	return Damaged.List("%s\n\nIf there is an intact copy of the file, put it in place. Otherwise look for objects that the state doesn't have, then take what can be read with:\n    %s", b.String(), command(s.Program, "recover", "-damaged"))
}

// interrupted reports what was recovered.
func interrupted(path string, l *journal.Log, rec journal.Recovery, settled []journal.Operation) diag.List {
	var b strings.Builder
	fmt.Fprintf(&b, "An earlier run ended before it could save the state. Its journal %s had the results of %d objects, which are in the state now.", path, len(rec.Folded))
	if len(settled) > 0 {
		b.WriteString("\n\nIt was still changing or deleting these objects. Refreshing, which plan and apply do, finds out what became of them:")
		for _, o := range settled {
			fmt.Fprintf(&b, "\n  - %s (%s)", o.Object, o.Action)
		}
	}
	if len(rec.Invoking) > 0 {
		b.WriteString("\n\nIt was invoking these actions, and whether they were done isn't known. They aren't invoked again by themselves; if that is needed, use -invoke:")
		for _, label := range rec.Invoking {
			fmt.Fprintf(&b, "\n  - %s", label)
		}
	}
	if len(rec.Conflicts) > 0 {
		b.WriteString("\n\nThe state was changed by others meanwhile. These objects of the journal were left out, because the state has other objects in their place; find and delete or import them:")
		for _, at := range rec.Conflicts {
			fmt.Fprintf(&b, "\n  - %s", at)
		}
	}
	if l.Damaged > 0 {
		fmt.Fprintf(&b, "\n\n%d lines of the journal can't be read: something other than a crash has damaged it. Objects may exist that aren't in the state.", l.Damaged)
	}
	return Recovered.Warnings("%s", b.String())
}

// inDoubt lists the objects that may exist.
func (s *Session) inDoubt() diag.List {
	if len(s.doubts) == 0 {
		return nil
	}
	var b strings.Builder
	if s.remembered == "" {
		b.WriteString("An earlier run asked providers to create these objects and didn't learn whether they did:\n")
	} else {
		fmt.Fprintf(&b, "A run of %s was creating these objects, or was about to, when it ended. It has noted them beside the state, and its journal, which knows more, isn't here. If that directory is still there, run any command that locks the state in it, which saves what the journal knows. The run was creating:\n", s.remembered)
	}
	for _, o := range s.doubts {
		fmt.Fprintf(&b, "\n  - %s", o.Object)
		if o.Key != "" {
			fmt.Fprintf(&b, " (%s = %q)", o.Key, o.ID)
		}
	}
	switch _, notes := s.takesNotes(); {
	case notes || !s.remote():
	case s.lockID != "" && s.stays():
		fmt.Fprintf(&b, "\n\nOnly the journal %s knows of them, so the state stays locked until you resolve them.", s.journalPath())
	default:
		fmt.Fprintf(&b, "\n\nOnly the journal %s knows of them: resolve them before anybody works on the state from another machine or directory.", s.journalPath())
	}
	first := s.doubts[0].Object.Instance
	return diag.InDoubt.Warnings("%s\n\nUntil you resolve them they are not created again, and their dependents wait. Look whether they exist. For one that exists:\n    %s\nFor one that doesn't:\n    %s\nIf none of them does, -forget-all does that for all.", b.String(), command(s.Program, "recover", fmt.Sprintf("-import='%s=ID'", first)), command(s.Program, "recover", fmt.Sprintf("-forget='%s'", first)))
}

// again rejects a plan that was made before something came into doubt.
func (s *Session) again(p *plan.Plan) diag.List {
	needed := s.prior.Behind(s.Needed())
	for _, c := range p.Changes {
		if (c.Action == plan.Delete || c.Action.IsReplace()) && needed[c.Addr.Resource.Erase()] {
			return diag.List{diag.InDoubt.New(diag.Error, "The plan ends %s, and an object that an earlier run may have created needs it. Resolve that with \"%s\", then make a new plan.", c.Addr, command(s.Program, "recover", ""))}
		}
	}
	for _, o := range s.doubts {
		for _, c := range p.Changes {
			if c.Addr == o.Object && (c.Action == plan.Create || c.Action.IsReplace()) {
				return diag.List{diag.InDoubt.New(diag.Error, "The plan creates %s, and an earlier run may have done so already. Resolve that with \"%s\", then make a new plan.", o.Object, command(s.Program, "recover", ""))}
			}
		}
	}
	return nil
}

// Doubts are creates of earlier runs whose outcome isn't known.
func (s *Session) Doubts() []journal.Operation { return slices.Clone(s.doubts) }

// settle leaves the given operations in doubt and no others.
func (s *Session) settle(left []journal.Operation) error {
	s.doubts = left
	if s.Notes != nil {
		return s.writeNote(s.Saving(), left)
	}
	if len(left) > 0 {
		if err := s.keepDoubts(left); err != nil {
			return err
		}
		return s.writeNote(s.Saving(), left)
	}
	if err := s.writeNote(s.Saving(), nil); err != nil {
		return err
	}
	return journal.Discard(s.Disk, s.journalPath())
}

// Needed are the resources that objects in doubt need, if they exist.
func (s *Session) Needed() []addr.Resource {
	var list []addr.Resource
	for _, o := range s.doubts {
		list = append(list, o.Needs...)
	}
	return list
}
