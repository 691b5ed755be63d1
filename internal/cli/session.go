package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/journal"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/statefile"
	"weir.dev/weir/internal/storage"
)

// A session is work on the state of one workspace: opened, perhaps locked,
// read, perhaps written. Its lock is released when the command ends, on every
// path.
type session struct {
	e         *env
	backend   *backend
	workspace string
	store     storage.Store
	files     stateFlags
	// elsewhere: the state is written to another place than it is read from.
	elsewhere bool
	lockID    string

	// prior is the state as it was read, nil where there is none. Its
	// providers have the names that the configuration uses.
	prior *state.Snapshot
	// base and saved have the state as it is stored and its bytes.
	base    *state.Snapshot
	saved   []byte
	wrote   bool
	lineage string // of a state that is new

	// doubts are creates of earlier runs whose outcome isn't known.
	doubts []journal.Operation
	// journal is that of the apply under way, nil otherwise.
	journal *journal.Writer
}

// openSession finds the state that a command works on. It takes no lock.
func (e *env) openSession(b *backend, f stateFlags) (*session, diag.List) {
	name, diags := e.workspace()
	if diags.HasErrors() {
		return nil, diags
	}
	return e.openWorkspace(b, name, f)
}

func (e *env) openWorkspace(b *backend, name string, f stateFlags) (*session, diag.List) {
	s := &session{e: e, backend: b, workspace: name, files: f, elsewhere: f.stateOut != "" && f.stateOut != f.state}
	var err error
	if s.store, err = b.withFiles(f).State(name); err != nil {
		return nil, oneError("Error loading the state", "%s.", err)
	}
	return s, nil
}

// lock takes the lock of the state unless flags say otherwise.
func (s *session) lock(ctx context.Context, operation string, f stateFlags) diag.List {
	if !f.lock {
		return nil
	}
	info := storage.NewLockInfo(operation, who(), s.e.compat.claims())
	slow := time.AfterFunc(3*time.Second, func() {
		s.e.notice("Acquiring state lock. This may take a few moments...\n")
	})
	id, err := storage.LockWithTimeout(ctx, s.store, info, f.timeout)
	slow.Stop()
	if err != nil {
		return oneError("Error acquiring the state lock", "Error message: %s\n\nThe lock keeps several runs from writing the state at the same time. Wait until the other run has ended, or use -lock-timeout to wait for it. If the lock was left behind by a run that was killed, remove it with the force-unlock command and the ID above. For most commands -lock=false works without a lock, which is not recommended.", err)
	}
	s.lockID = id
	s.e.onClose(s.unlock)
	return nil
}

// unlock releases the lock, once.
func (s *session) unlock() {
	id := s.lockID
	s.lockID = ""
	if id == "" {
		return
	}
	// The lock must be released also after an interrupt.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.store.Unlock(ctx, id); err != nil {
		s.e.fail("Error releasing the state lock", "Error message: %s\n\nThe lock may still be there. Once it is certain that nobody works on the state, remove it with the force-unlock command and the ID %s.", err, id)
	}
}

// who tells the people who wait for a lock whose it is.
func who() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// read loads the state.
func (s *session) read(ctx context.Context) diag.List {
	data, err := s.store.Read(ctx)
	if err == nil && data != nil && len(bytes.TrimSpace(data)) == 0 {
		err = storage.ErrEmptyState
	}
	if errors.Is(err, storage.ErrEmptyState) {
		return s.emptied()
	}
	if err != nil {
		return oneError("Error loading the state", "%s.", err)
	}
	s.saved = data
	s.base, s.prior = nil, nil
	snapshot, diags := statefile.Read(data, s.backend.describe())
	if diags.HasErrors() {
		return s.torn(diags)
	}
	s.base = snapshot
	s.adopt(snapshot)
	more := s.recover(ctx)
	if s.e.progress == nil && !more.HasErrors() {
		// Commands that print the state itself: this is no part of it.
		fmt.Fprint(s.e.err, s.e.diagText(more))
		more = nil
	}
	return append(diags, more...)
}

// adopt makes a state the one to work on.
func (s *session) adopt(snapshot *state.Snapshot) {
	s.prior = snapshot
	if s.e.compat == compatTofu {
		s.prior = statefile.TranslateProviders(snapshot, s.backend.requires)
	}
}

// snapshot is the state as it was read, empty where there is none.
func (s *session) snapshot() *state.Snapshot {
	if s.prior == nil {
		return state.Empty()
	}
	return s.prior
}

// save writes a state whose content differs from what is stored. However often
// it is called, the serial grows by one.
func (s *session) save(ctx context.Context, next *state.Snapshot) error {
	same := statefile.Equal(s.base, next)
	if same && !s.wrote && !s.elsewhere {
		return nil
	}
	out := s.stamped(next)
	if same && !s.wrote { // only -state-out needs it
		out.Serial = s.base.Serial
	}
	return s.put(ctx, out)
}

// stamped is a state as it follows on the one that was read.
func (s *session) stamped(next *state.Snapshot) *state.Snapshot {
	out := *next
	if s.base != nil {
		out.Serial, out.Lineage = s.base.Serial+1, s.base.Lineage
	} else {
		out.Serial, out.Lineage = 1, s.newLineage()
	}
	out.Version = s.e.compat.claims()
	return &out
}

// newLineage is the lineage of a state that is new, always the same.
func (s *session) newLineage() string {
	if s.lineage == "" {
		s.lineage = newLineage()
	}
	return s.lineage
}

// put writes a state as it is, unless those very bytes are stored.
func (s *session) put(ctx context.Context, next *state.Snapshot) error {
	var b bytes.Buffer
	if err := statefile.Write(&b, next); err != nil {
		return err
	}
	if !s.elsewhere && bytes.Equal(b.Bytes(), s.saved) {
		return nil
	}
	if s.journal != nil {
		// So that a next run knows this state from one that others wrote.
		_ = s.journal.Snapshot(journal.Digest(b.Bytes()))
	}
	if !s.wrote && !s.elsewhere {
		s.remember()
	}
	if err := s.store.Write(ctx, b.Bytes()); err != nil {
		return err
	}
	s.wrote, s.saved = true, b.Bytes()
	return nil
}

// rescue keeps a state that could not be saved where it belongs.
func (s *session) rescue(next *state.Snapshot, problem error) diag.List {
	const name = "errored.tfstate"
	diags := oneError("Failed to save state", "Error saving state: %s.", problem)
	var b bytes.Buffer
	if err := statefile.Write(&b, next); err != nil {
		diags.Errorf("Failed to create local state file", "The state can't be written at all: %s.", err)
		return diags
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		diags.Errorf("Failed to create local state file", "The state can't be written to %q either: %s. It follows, so that it is not lost:\n\n%s", name, cause(err), b.String())
		return diags
	}
	diags.Errorf("Failed to persist state to backend", "What was done is recorded in the file %q instead. Remove the cause, then run:\n    %s state push %s", name, s.e.program, name)
	return diags
}

// newLineage makes a random UUID.
func newLineage() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// workspace is the name of the selected workspace.
func (e *env) workspace() (string, diag.List) {
	if name := e.vars["TF_WORKSPACE"]; name != "" {
		if !validWorkspace(name) {
			return "", oneError("Invalid workspace name", "The name %q in TF_WORKSPACE is not allowed: %s", name, workspaceNames)
		}
		return name, nil
	}
	name, err := e.dir().Workspace()
	if err != nil {
		return "", oneError("Failed to read the selected workspace", "%s.", err)
	}
	return name, nil
}

const workspaceNames = "it must contain only URL safe characters, and no path separators."

func validWorkspace(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '-', r == '_', r == '.', r == '~':
		default:
			return false
		}
	}
	return true
}
