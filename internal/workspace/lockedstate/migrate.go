package lockedstate

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/statebackend"
)

// A Copy is the state of a workspace on its way to another backend.
type Copy struct {
	// Overwrites: there is a state in the other backend, and another one.
	Overwrites     bool
	old            *statebackend.Backend
	from, to       string // workspaces
	source, target *storage.Sealed
	next           *statebackend.Backend
}

// From is the workspace that it is the state of.
func (c Copy) From() string { return c.from }

// PlanCopies finds the states that aren't in the next backend yet. Where that
// one has a single workspace, only the current one is copied.
func PlanCopies(ctx context.Context, old, next *statebackend.Backend, o Options, current func() (string, diag.List)) ([]Copy, diag.List) {
	names, err := old.Workspaces(ctx)
	if errors.Is(err, storage.ErrWorkspacesNotSupported) {
		names, err = []string{storage.DefaultWorkspace}, nil
	}
	if err != nil {
		return nil, NotSaved.As(migrating).List("The workspaces of the %q backend can't be listed: %s.", old.Kind, err)
	}
	_, err = next.Workspaces(ctx)
	single := errors.Is(err, storage.ErrWorkspacesNotSupported)
	if err != nil && !single {
		return nil, diag.StateUnreadable.As("Failed to get existing workspaces").List("The workspaces of the %q backend can't be listed: %s.", next.Kind, err)
	}
	only, named := "", false
	if u, ok := next.Backend.(storage.Undefaulted); ok && !single {
		only, named = u.Only(), u.Undefaulted()
	}
	if (single || only != "") && len(names) > 1 {
		name, diags := current()
		if diags.HasErrors() {
			return nil, diags
		}
		names = []string{name}
	}
	var plan []Copy
	for _, name := range names {
		c := Copy{from: name, to: name, old: old, next: next}
		switch {
		case single:
			c.to = storage.DefaultWorkspace
		case only != "":
			c.to = only
		case named && name == storage.DefaultWorkspace:
			// It has no place there, unless the environment reports one; it may have no state.
			c.to = ""
			if chosen, _ := current(); !slices.Contains(names, chosen) {
				c.to = chosen
			}
		}
		needed, diags := c.look(ctx, o)
		if diags.HasErrors() {
			return nil, diags
		}
		if needed {
			plan = append(plan, c)
		}
	}
	return plan, nil
}

const migrating = "Error migrating state"

// look reads both sides and reports whether there is anything to copy.
func (c *Copy) look(ctx context.Context, o Options) (bool, diag.List) {
	var data []byte
	var err error
	if c.source, err = storage.OpenSealed(c.old.Backend, c.from, o.Seals); err == nil {
		data, err = c.source.Read(ctx)
	}
	if err != nil {
		return false, NotSaved.As(migrating).List("The state of workspace %q can't be read: %s.", c.from, err)
	}
	unfinished := len(c.session(o).journals()) > 0
	if len(bytes.TrimSpace(data)) == 0 && !unfinished {
		return false, nil
	}
	if c.to == "" {
		return false, NotSaved.As(migrating).List("The %q backend has no workspace %q, and there is a state in the one here. Say which workspace that becomes with the environment variable TF_WORKSPACE, for this init alone.", c.next.Kind, c.from)
	}
	var there []byte
	if c.target, err = storage.OpenSealed(c.next.Backend, c.to, o.Seals); err == nil {
		there, err = c.target.Read(ctx)
	}
	if err != nil {
		return false, NotSaved.As(migrating).List("The state of workspace %q in the new backend can't be read: %s.", c.to, err)
	}
	c.Overwrites = len(bytes.TrimSpace(there)) > 0
	return c.target.Migrating() || unfinished || !bytes.Equal(there, data), nil
}

// session is the side that is copied from.
func (c *Copy) session(o Options) *Session {
	o = o.withDefaults()
	o.Registry = ""
	return &Session{Options: o, backend: c.old, workspace: c.from, store: c.source}
}

// latest reads what is to be copied, with what the journal of an earlier run
// knows, which only the old backend leads to.
func latest(ctx context.Context, from *Session) ([]byte, diag.List) {
	diags := from.Read(ctx)
	switch {
	case diags.HasErrors():
		return nil, diags
	case len(from.doubts) > 0:
		diags.Add(NotSaved.As(migrating).New(diag.Error, "Only the old backend leads to the journal with the objects in doubt. Restore its configuration and resolve them first."))
		return nil, diags
	case !from.folded:
		return from.saved.data, diags
	}
	data, err := statefile.Bytes(from.stamped(from.Snapshot()))
	if err != nil {
		diags.Add(NotSaved.As(migrating).New(diag.Error, "The state of workspace %q can't be written: %s.", from.workspace, err))
	}
	return data, diags
}

// Run copies the state, with both locks held.
func (c Copy) Run(ctx context.Context, l Locking, o Options) diag.List {
	if err := c.next.CreateWorkspace(ctx, c.to); err != nil && !errors.Is(err, storage.ErrWorkspacesNotSupported) && c.to != storage.DefaultWorkspace {
		return NotSaved.As(migrating).List("The workspace %q can't be made: %s.", c.to, err)
	}
	from := c.session(o)
	to := &Session{Options: o.withDefaults(), backend: c.next, workspace: c.to, store: c.target}
	defer from.unlock()
	defer to.unlock()
	_, diags := from.Lock(ctx, "migration source state", l)
	if !diags.HasErrors() {
		_, more := to.Lock(ctx, "migration destination state", l)
		diags.Append(more)
	}
	if diags.HasErrors() {
		return diags
	}
	data, more := latest(ctx, from)
	diags.Append(more)
	if diags.HasErrors() || len(data) == 0 {
		return diags
	}
	if err := c.target.Write(ctx, data); err != nil {
		diags.Add(NotSaved.As(migrating).New(diag.Error, "The state of workspace %q can't be written to the new backend: %s. The old backend still has it.", c.to, err))
	}
	return diags
}
