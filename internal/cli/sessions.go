package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/backend"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/encryption"
	"weir.dev/weir/internal/session"
	"weir.dev/weir/internal/stack/parts"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/storage/local"
)

// openSession finds the state that a command works on. It takes no lock.
func (e *env) openSession(b *backend.Backend, f stateFlags) (*session.Session, diag.List) {
	name, diags := e.workspace()
	if diags.HasErrors() {
		return nil, diags
	}
	return e.openWorkspace(b, name, f)
}

func (e *env) openWorkspace(b *backend.Backend, name string, f stateFlags) (*session.Session, diag.List) {
	o, diags := e.sessionOptions(b, f)
	if diags.HasErrors() {
		return nil, diags
	}
	s, more := session.Open(b, name, o)
	return s, append(diags, more...)
}

// stackBackend is where the states of a stack's deployments are.
func stackBackend() *backend.Backend {
	return &backend.Backend{Backend: parts.Backend{Dir: parts.Dir}, Kind: "stack", Config: cty.EmptyObjectVal}
}

// leastInterval is the least that TF_STATE_PERSIST_INTERVAL can ask for.
const leastInterval = 20 * time.Second

func (e *env) sessionOptions(b *backend.Backend, f stateFlags) (session.Options, diag.List) {
	seals, diags := e.sealsFor(b)
	o := session.Options{
		Seals:    seals,
		Files:    local.Override{State: f.state, StateOut: f.stateOut, Backup: f.backup},
		DataDir:  e.dataDir(),
		Damaged:  f.damaged,
		Program:  e.program,
		Version:  e.dialect.Version(),
		Registry: e.dialect.Registry(),
		Notice:   e.notice,
		Problem:  func(l diag.List) { e.diags(l) },
	}
	if n, err := strconv.Atoi(e.vars["TF_STATE_PERSIST_INTERVAL"]); err == nil && n > 0 {
		o.Interval = max(time.Duration(n)*time.Second, leastInterval)
	}
	return o, diags
}

// sealsFor is how states in a backend are encrypted.
func (e *env) sealsFor(b *backend.Backend) (encryption.State, diag.List) {
	if _, stacks := b.Backend.(parts.Backend); stacks {
		if e.vars[encryptionVariable] != "" {
			return encryption.State{}, oneError("Unsupported encryption", "States of stacks can't be encrypted yet, and weir doesn't write in clear what is to be encrypted. The environment variable %s asks for it.", encryptionVariable)
		}
		return encryption.State{}, nil
	}
	all, diags := e.encryption()
	return all.State(), diags
}

func (f stateFlags) locking() session.Locking {
	return session.Locking{Off: !f.lock, Timeout: f.timeout}
}

// lock takes the lock of a state unless flags say otherwise. It is released
// when the command ends, on every path.
func (e *env) lock(ctx context.Context, s *session.Session, operation string, f stateFlags) diag.List {
	e.onClose(s.Unlock)
	return s.Lock(ctx, operation, f.locking())
}

// read loads a state.
func (e *env) read(ctx context.Context, s *session.Session) diag.List {
	return e.aside(s.Read(ctx))
}

// aside tells warnings where they don't mix with what a command prints, and
// returns what is left to tell.
func (e *env) aside(diags diag.List) diag.List {
	if e.progress == nil && !diags.HasErrors() {
		// Commands that print the state itself: this is no part of it.
		fmt.Fprint(e.err, e.diagText(diags))
		return nil
	}
	return diags
}

// commit saves a changed state and reports problems.
func (e *env) commit(ctx context.Context, s *session.Session, next *state.Snapshot) int {
	if err := s.Save(ctx, next); err != nil {
		return e.fail("Failed to save state", "Error saving the state: %s.\n\nThe state was not changed.", err)
	}
	return 0
}
