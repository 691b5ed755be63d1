// Package lockedstate works on the locked state of one workspace while a command runs: locking,
// reading, recovery of an earlier run, recording an apply, saving, and earlier states.
//
// It owns when the state is written and what is remembered beside it, so that nothing is lost
// with the process. It doesn't know flags and terminals, to change states, or choose the
// backend.
package lockedstate

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Options are what a session takes from the command around it.
type Options struct {
	// Files are those that the command line names.
	Files storage.Override
	// Dir is where a state is put that can't be saved where it belongs.
	Dir string
	// DataDir is where journals and earlier states are kept that can't be
	// beside the state.
	DataDir string
	// Disk is where files are changed; nil for the system's.
	Disk *durable.Disk
	// Processes reports who holds locks; nil for those of the system.
	Processes storage.Processes
	// Seals is how states, and what is kept beside them, are encrypted.
	Seals encryption.State
	// Memory is kept with states that are written; nil keeps what was there.
	Memory []byte
	// Now is the clock, and Random what makes identities unique; nil for those of
	// the system.
	Now    func() time.Time
	Random io.Reader
	// Who informs people who wait for a lock whose it is.
	Who func() string
	// Saving is for how long what was started may still be ended; nil for without end.
	Saving func() context.Context
	// Program is the name in messages that say what to run.
	Program string
	// Command is the command that writes, for the records of history; empty writes none.
	Command string
	// Version is the version of the engine that states say they were written by.
	Version string
	// Registry has objects of the other public registry's providers read as those
	// of this one; empty leaves them as they are.
	Registry addr.Registry
	// Memo has what states were read to before; nil for nothing.
	Memo *parsecache.Memo
	// Outlined: the session has no more of objects than an outline (statefile.Outline), except
	// where a Memo has all, or where a journal is to be folded in.
	Outlined bool
	// Interval is the least time between two saves during an apply; 0 lets it
	// follow from how long they take.
	Interval time.Duration
	// Damaged has a damaged journal taken for as far as it can be read.
	Damaged bool
	// Transfers: the run ends moves between states. All others stop at one that hasn't ended.
	Transfers bool
	// Notice reports something while the command waits.
	Notice func(text string)
	// Notes takes the place of journals, which are files; nil stands for these.
	Notes *storage.Notes
	// Problem reports what goes wrong at the end, when nothing else can.
	Problem func(diag.List)
}

// A Session is work on the state of one workspace: opened, perhaps locked,
// read, perhaps written.
type Session struct {
	Options
	backend   *statebackend.Backend
	workspace string
	store     *storage.Sealed
	// elsewhere: the state is written to another place than it is read from.
	elsewhere bool
	lockID    string

	prior   *state.Snapshot
	known   *state.Snapshot // prior under the names that are stored
	base    *state.Snapshot // what is stored
	saved   content         // what is stored
	wrote   bool
	changed bool   // what was written is another state than base
	lineage string // of a state that is new

	// claimed: this run has the lock, or would have it if there were one.
	claimed bool
	// unlocked: this run plans without the lock, until it finds what an earlier run has left, or
	// locks parts of the state. locking and operation are for that.
	unlocked  bool
	locking   Locking
	operation string
	// parts: the lock is one of parts of the state, and suffix distinguishes the journal of this
	// run from those of others then.
	parts  bool
	suffix string
	// began is when this run took the lock, or when its apply began.
	began time.Time
	// noted: there is a note beside the state, by this run or an earlier one.
	noted bool
	// inherited is the file that says that this run continues with the lock of another one,
	// empty for none; ancestor is the process that took the lock.
	inherited, ancestor string
	// unsaved: what this run or one before it did couldn't be saved, and is in the journal.
	unsaved bool
	// recovered: it is known what the journal of an earlier run has.
	recovered bool
	// unread: another run in this directory was writing its journal when the state was read. It has
	// lost the lock if this one has it.
	unread bool
	// serial is that of the state that is stored.
	serial uint64
	// run is the identity of this run in its journal and its note.
	run string

	// remembered is whose note some of the doubts are from, empty for none.
	remembered string
	// doubts are creates of earlier runs whose outcome isn't known.
	doubts []journal.Operation
	// folded: prior has what the journal of an earlier run knows, and that
	// journal is still there, because this run holds no lock.
	folded bool
	// journal is that of the apply under way, nil otherwise.
	journal *journal.Writer
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Processes == nil {
		o.Processes = storage.System
	}
	if o.Saving == nil {
		o.Saving = context.Background
	}
	if o.Who == nil {
		o.Who = func() string { return "unknown@unknown" }
	}
	return o
}

// Open finds the state of a workspace. It takes no lock and reads nothing.
func Open(b *statebackend.Backend, workspace string, o Options) (*Session, diag.List) {
	o = o.withDefaults()
	f := o.Files
	s := &Session{Options: o, backend: b, workspace: workspace, elsewhere: f.StateOut != "" && f.StateOut != f.State}
	if o.Seals.Encrypts() {
		f.Recode = func(old []byte) ([]byte, error) { return reseal(o.Seals, old) }
	}
	var err error
	if s.store, err = storage.OpenSealed(b.WithFiles(f), workspace, o.Seals); err != nil {
		return nil, diag.StateUnreadable.List("%s.", err)
	}
	return s, nil
}

// Backend is where the state is.
func (s *Session) Backend() *statebackend.Backend { return s.backend }

// Workspace is whose state it is.
func (s *Session) Workspace() string { return s.workspace }

// Prior is the state as it was read, nil without one. Its providers have the names that the
// configuration uses.
func (s *Session) Prior() *state.Snapshot { return s.prior }

// Base is the state as it is stored, nil without one. Without a lock it also has what the
// journal of an earlier run knows.
func (s *Session) Base() *state.Snapshot { return s.known }

// Text is the stored text of Base. It is nil where Base has results from a journal, and where
// the text has an earlier version of the format.
func (s *Session) Text() []byte {
	if s.known == nil || s.known != s.base || !statefile.IsCurrent(s.saved.data) {
		return nil
	}
	return s.saved.data
}

// Stored is the serial of the state that is stored, and whether that has all that was
// done.
func (s *Session) Stored() (serial uint64, all bool) { return s.serial, s.serial > 0 && !s.unsaved }

// Snapshot is the state as it was read, empty without one.
func (s *Session) Snapshot() *state.Snapshot {
	if s.prior == nil {
		return state.Empty()
	}
	return s.prior
}

// Locking says whether and how a state is locked.
type Locking struct {
	Off     bool
	Timeout time.Duration // how long to wait while somebody else has the lock
	// Parts: once the run knows which parts of the state it needs, it locks these.
	Parts bool
}

// Lock takes the lock of the state, unless there is to be none: the session that
// returns may change the state. It is nil beside an error.
func (s *Session) Lock(ctx context.Context, operation string, l Locking) (*Claimed, diag.List) {
	s.claimed, s.began = true, s.Now()
	s.locking, s.operation = l, operation
	s.unlocked = !l.Off && (l.Parts || operation == storage.Plans) && s.Concurrent()
	if l.Off || s.unlocked {
		return &Claimed{s}, nil
	}
	return s.take(ctx, s.store, l)
}

// take takes the lock that a store has.
func (s *Session) take(ctx context.Context, of storage.Store, l Locking) (*Claimed, diag.List) {
	ctx, span := trace.Begin(ctx, trace.State, "lock state")
	diags := s.acquire(ctx, of, l)
	span.End(diags.HasErrors())
	if diags.HasErrors() {
		return nil, diags
	}
	return &Claimed{s}, diags
}

func (s *Session) acquire(ctx context.Context, of storage.Store, l Locking) diag.List {
	operation := s.operation
	if err := s.reserve(); err != nil {
		return diag.List{Locked.New(diag.Error, "%s.", err)}
	}
	info := storage.LockInfo{
		ID: newUUID(s.Random), Operation: operation, Info: s.Processes.This(),
		Who: s.Who(), Version: s.Version, Created: s.Now().UTC(),
	}
	if !storage.KeepsNothing(operation) {
		if err := s.hold(); err != nil {
			return diag.List{Locked.New(diag.Error, "%s.", err)}
		}
	}
	slow := time.AfterFunc(3*time.Second, func() {
		s.Notice("Acquiring state lock. This may take a few moments...\n")
	})
	wait := s.waiting()
	taking := storage.Taking{
		Timeout: l.Timeout, Processes: s.Processes,
		Refuse: func(left storage.LockInfo) error {
			if s.parts {
				return errLeft
			}
			return s.journalElsewhere(ctx, left)
		},
		Inherit: s.inherit,
		Waiting: func(holder *storage.LockInfo, rest time.Duration) {
			slow.Stop() // the line about the holder says more
			wait(holder, rest)
		},
	}
	id, left, err := storage.Acquire(ctx, of, info, taking)
	for last := ""; s.leftBy(err) != "" && s.leftBy(err) != last; { // several may have left locks of parts
		last = s.leftBy(err)
		id, left, err = storage.Acquire(ctx, of, info, taking)
	}
	slow.Stop()
	if err != nil {
		s.letGo()
	}
	if errors.As(err, new(*storage.UnusableError)) {
		return Unusable.List("%s.", err)
	}
	if errors.As(err, new(*storage.RefusedError)) {
		d := Locked.New(diag.Error, "%s", err)
		d.Err = err
		return diag.List{d}
	}
	if err != nil && !errors.As(err, new(*storage.LockError)) && !s.unanswered() {
		d := Locked.New(diag.Error, "Error message: %s\n\nNo other run is known to hold the lock. Remove the cause, then run the command again. For most commands -lock=false works without a lock, which is not recommended.", err)
		d.Err = err
		return diag.List{d}
	}
	if err != nil {
		said, id := fmt.Sprintf("Error message: %s", err), "ID"
		if held := (*storage.LockError)(nil); errors.As(err, &held) && held.Holder != nil {
			// Only a UUID is proposed to a shell: others write the lock.
			if own := held.Holder.ID; own != "" && strings.Trim(own, "0123456789abcdef-") == "" {
				id = own
			}
			said = held.Holder.Held(s.Now()) + ".\n"
			if !errors.As(held.Err, new(syscall.Errno)) { // that says no more than that it is held
				said += "Error message: " + held.Err.Error() + "\n"
			}
			said += "\n" + strings.TrimRight(held.Holder.String(), "\n")
		}
		d := Locked.New(diag.Error, "%s\n\nThe lock keeps several runs from writing the state at the same time. Wait until the other run has ended, or use -lock-timeout to wait for it. If the lock was left behind by a run that was killed, remove it by that ID:\n    %s\nFor most commands -lock=false works without a lock, which is not recommended.", said, diag.Run("force-unlock", id))
		d.Err = err
		return diag.List{d}
	}
	if s.lockID = id; s.parts {
		s.suffix = "." + id
	}
	if left != nil {
		return diag.List{TakenOver.New(diag.Warning, "The lock %s was left behind: the process that took it for %q on %s has ended without releasing it. This run holds the lock now.", left.ID, left.Operation, left.Created.Local().Format("2006-01-02 15:04:05"))}
	}
	return nil
}

// waiting informs people now and then who holds the lock and how long they still wait.
func (s *Session) waiting() func(*storage.LockInfo, time.Duration) {
	var told time.Time
	return func(holder *storage.LockInfo, rest time.Duration) {
		now := s.Now()
		if !told.IsZero() && now.Sub(told) < tellWaiting {
			return
		}
		told = now
		who := "The lock is held"
		if holder != nil {
			who = holder.Held(now)
		}
		s.Notice(fmt.Sprintf("%s. Waiting for it, %s at most...\n", who, rest.Round(time.Second)))
	}
}

// tellWaiting is how often people learn that they wait.
const tellWaiting = 4 * time.Second

// reserve says what state may be there before one is written. It has the
// lineage that the state will have.
func (s *Session) reserve() error {
	store, ok := placeholder(s.store)
	if !ok {
		return nil
	}
	if l, err := s.readJournal(s.journalPath()); err == nil {
		s.lineage = l.Begin.Lineage
	}
	nothing := state.Empty()
	nothing.Lineage, nothing.Version = s.newLineage(), s.Version
	data, err := statefile.Bytes(nothing)
	if err != nil {
		return err
	}
	return store.Placeholder(data)
}

func placeholder(s storage.Store) (storage.Placeholder, bool) {
	b, ok := s.(storage.Placeholder)
	return b, ok
}

// unwritten reports whether the stored state is the one that a run reserved
// which ended before it wrote any.
func (s *Session) unwritten() bool {
	return s.base != nil && s.base.Serial == 0 && len(s.base.Objects)+len(s.base.Outputs) == 0
}

// digest is how journals name what is stored.
func (s *Session) digest() string {
	if s.unwritten() {
		return ""
	}
	return s.saved.sum()
}

// A content is the bytes of a state that is stored.
type content struct {
	data   []byte // of the base; nil once an apply has written others
	size   int64
	digest string // how journals name it, empty for not known yet
	// find finds the digest of what was read, once for all who read the same; nil where others
	// may not have.
	find func() string
}

// contentOf is a content that was read.
func contentOf(data []byte) content { return content{data: data, size: int64(len(data))} }

func (c *content) sum() string {
	switch {
	case c.digest != "":
	case c.find != nil:
		c.digest = c.find()
	default:
		c.digest = journal.Digest(c.data)
	}
	return c.digest
}

// command is a command that messages say to run.
func command(program, name, args string) diag.Command {
	return diag.Command{Program: program, Name: name, Args: args}
}

// unlock releases the lock, once; without one it does nothing.
func (s *Session) unlock() {
	id := s.lockID
	s.lockID, s.claimed = "", false
	if id == "" {
		return
	}
	if s.stays() {
		s.handBack()
		s.Problem(diag.List{StaysLocked.New(diag.Warning, "Only the journal %s in this directory has the objects in doubt, and this backend can't store a note beside the state. Others would create them a second time, so the lock %s stays until you resolve them here: see \"%s\".", s.journalPath(), id, command(s.Program, "recover", ""))})
		return
	}
	// The lock must be released also after an interrupt.
	ctx, cancel := storage.Finish(s.Saving())
	defer cancel()
	s.tidy() // as long as nobody else can have the lock
	if err := s.store.Unlock(ctx, id); err != nil {
		s.Problem(NotReleased.List("Error message: %s\n\nThe lock may still be there. Once it is certain that nobody works on the state, remove it:\n    %s", err, diag.Run("force-unlock", id)))
		return
	}
	s.letGo()
}

// ForceUnlock removes the lock with that id, which another run left behind.
func (s *Session) ForceUnlock(ctx context.Context, id string) error { return s.store.Unlock(ctx, id) }

// Read loads the state with what the journal of an earlier run knows. Warnings
// are about such a run, never about the state. A plan without the lock takes it where an earlier
// run has left something, which is saved then. If somebody has the lock, what is left may be the
// work of that run, and the plan continues with what is stored.
func (s *Session) Read(ctx context.Context) diag.List {
	diags := s.read(ctx)
	if !s.unlocked || !s.noted && len(s.doubts) == 0 && !s.folded {
		return diags
	}
	s.unlocked = false
	_, found := s.take(ctx, s.store, Locking{})
	switch {
	case slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return errors.As(d.Err, new(*storage.LockError)) }):
		s.unlocked = true
		return diags
	case found.HasErrors():
		return found
	}
	return append(found, s.read(ctx)...)
}

func (s *Session) read(ctx context.Context) diag.List {
	s.recovered, s.unread = false, false
	reading, span := trace.Begin(ctx, trace.State, "read state")
	data, err := s.store.Read(reading)
	span.End(err != nil)
	if err == nil && data != nil && len(bytes.TrimSpace(data)) == 0 {
		err = storage.ErrEmptyState
	}
	if errors.Is(err, storage.ErrEmptyState) {
		return s.emptied()
	}
	if errors.As(err, new(*storage.UnusableError)) {
		return Unusable.List("%s.", err)
	}
	if err != nil {
		return diag.StateUnreadable.List("%s.", err)
	}
	s.saved = contentOf(data)
	s.base, s.known, s.prior = nil, nil, nil
	type decoded struct {
		snapshot *state.Snapshot
		diags    diag.List
		digest   func() string
	}
	name := s.backend.Describe()
	read := parsecache.Of(s.Memo, "state "+name, data, func(data []byte) decoded {
		read := statefile.Read
		if s.Outlined && s.Memo == nil && len(s.journals()) == 0 { // its results are compared with whole objects
			read = statefile.Outline
		}
		snapshot, diags := read(data, name)
		return decoded{snapshot, diags, sync.OnceValue(func() string { return journal.Digest(data) })}
	})
	s.saved.find = read.digest
	snapshot, diags := read.snapshot, slices.Clone(read.diags)
	if diags.HasErrors() {
		return s.torn(diags)
	}
	s.base = snapshot
	if store, ok := placeholder(s.store); ok && s.unwritten() {
		if err := store.Placeholder(data); err != nil {
			return diag.StateUnreadable.List("%s.", err)
		}
	}
	s.adopt(snapshot)
	found := s.recover(ctx)
	s.recovered = true
	s.unsaved = found.HasErrors() && !slices.ContainsFunc(found, Foreign.Is)
	diags.Append(found)
	diags.Append(s.transferring())
	return diags
}

// adopt makes a state the one to work on.
func (s *Session) adopt(snapshot *state.Snapshot) {
	s.known, s.prior = snapshot, snapshot
	if snapshot != nil {
		s.serial = snapshot.Serial
	}
	if s.Registry != "" {
		s.prior = statefile.TranslateProviders(snapshot, s.Registry, s.backend.Requires)
	}
}

// keepFound saves a state that was found out beside what was read, as that from which
// everything else starts.
func (s *Session) keepFound(ctx context.Context, found *state.Snapshot) error {
	if err := s.save(ctx, found); err != nil {
		return err
	}
	saved := s.stamped(found)
	s.base, s.wrote, s.changed = saved, false, false
	s.adopt(saved)
	return nil
}

// save writes a state whose content differs from what is stored. However often
// it is called, the serial grows by one.
func (s *Session) save(ctx context.Context, next *state.Snapshot) error {
	same := !s.changed && statefile.Equal(s.base, next)
	if same && !s.elsewhere && !s.store.Migrating() {
		return nil
	}
	out := s.stamped(next)
	if same && s.base != nil { // only -state-out or another key needs it
		out.Serial = s.base.Serial
	}
	err := s.put(ctx, out)
	s.changed = s.changed || !same && err == nil
	return err
}

// stamped is a state as it follows on the one that was read.
func (s *Session) stamped(next *state.Snapshot) *state.Snapshot {
	out := *next
	if s.base != nil {
		out.Serial, out.Lineage = s.base.Serial+1, s.base.Lineage
	} else {
		out.Serial, out.Lineage = 1, s.newLineage()
	}
	out.Version = s.Version
	return &out
}

// newLineage is the lineage of a state that is new, always the same.
func (s *Session) newLineage() string {
	if s.lineage == "" {
		s.lineage = newUUID(s.Random)
	}
	return s.lineage
}

// put writes a state as it is, unless those very bytes are stored.
func (s *Session) put(ctx context.Context, next *state.Snapshot) error {
	data, err := statefile.Bytes(s.remembering(next))
	if err != nil {
		return err
	}
	digest := journal.Digest(data)
	if !s.elsewhere && !s.store.Migrating() && digest == s.saved.sum() {
		return nil
	}
	if s.journal != nil {
		// So that a next run knows this state from one that others wrote.
		_ = s.journal.Snapshot(digest)
	}
	if !s.wrote && !s.elsewhere {
		s.remember()
	}
	ctx, span := trace.Begin(ctx, trace.State, "write state")
	err = s.store.Write(ctx, data)
	span.End(err != nil)
	if err != nil {
		return err
	}
	if c, ok := s.concurrent(); ok && s.parts {
		next.Serial = c.Wrote()
	}
	s.record(next)
	s.saved = content{data: data, size: int64(len(data)), digest: digest}
	if s.wrote, s.serial = true, next.Serial; s.journal != nil {
		s.saved.data = nil // of a state that grows, and is written again and again
	}
	if s.folded {
		s.folded = false
		_ = s.settle(s.doubts) // else the next run does so
	}
	return nil
}

// remembering is a state with what is to be remembered of its configuration.
func (s *Session) remembering(next *state.Snapshot) *state.Snapshot {
	out := *next
	switch {
	case s.Memory != nil:
		out.Memory = s.Memory
	case s.base != nil && s.base.Memory != nil:
		out.Memory = s.base.Memory
	}
	return &out
}

// rescue keeps a state that could not be saved where it belongs.
func (s *Session) rescue(next *state.Snapshot, why error) diag.List {
	const name = "errored.tfstate"
	diags := NotSaved.As("Failed to save state").List("Error saving state: %s.", why)
	data, err := statefile.Bytes(next)
	if err != nil {
		diags.Add(diag.Unwritable.As("Failed to create local state file").New(diag.Error, "The state can't be written at all: %s.", err))
		return diags
	}
	out, err := s.Seals.Seal(data)
	if err != nil {
		// Not even here in clear: the journal, which has a key already, knows
		// everything.
		diags.Add(diag.Unwritable.As("Failed to create local state file").New(diag.Error, "The state can't be written to %q either: %s.%s", name, err, s.inJournal()))
		return diags
	}
	if err := s.Disk.Replace(filepath.Join(s.Dir, name), out, 0o600); err != nil {
		diags.Add(diag.Unwritable.As("Failed to create local state file").New(diag.Error, "The state can't be written to %q either: %s. It follows, so that it is not lost:\n\n%s", name, diag.Cause(err), out))
		return diags
	}
	if errors.Is(why, storage.ErrChanged) {
		text := diag.Say("Somebody else has written the state while this run was under way. The results of this run are in the file %q instead.", name)
		if path := s.journalPath(); exists(path) {
			text = diag.Say("%s It is also in the journal %q, which the next run on this machine folds into the present state: run \"%s\" and see what it reports.", text, path, command(s.Program, "plan", ""))
		}
		diags.Add(NotSaved.New(diag.Error, "%s Pushing the file would take -force, and what others wrote would be lost.", text))
		return diags
	}
	diags.Add(NotSaved.New(diag.Error, "The results are in the file %q instead. Remove the cause, then run:\n    %s", name, command(s.Program, "state push", name)))
	return diags
}

// inJournal says where else it is what a run did to objects.
func (s *Session) inJournal() string {
	path := s.journalPath()
	if !exists(path) {
		return " Nothing was done to objects."
	}
	return fmt.Sprintf(" The results are in the journal %q, which the next run adds to the state.", path)
}

// newUUID makes a random UUID.
func newUUID(random io.Reader) string {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic(err) // the system's never fails
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
