package remote

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

// store is the state of a workspace at the service.
type store struct {
	b    *Backend
	name string

	mu      sync.Mutex
	known   bool   // seen is what Write replaces
	seen    string // the id of a version, "" for no state
	lineage string // of what was seen
	held    string // the id of the lock that this store has, "" for none
}

// Read returns the current version.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
	state, v, err := s.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("the state of %s can't be read: %w", s.id(), err)
	}
	s.known, s.seen, s.lineage = true, "", ""
	if v != nil {
		s.seen, s.lineage = v.ID, read(state).Lineage
		if len(state) == 0 {
			return nil, storage.ErrEmptyState
		}
	}
	return state, nil
}

// get returns nil where there is no state.
func (s *store) get(ctx context.Context) ([]byte, *version, error) {
	w, err := s.b.find(ctx, s.name)
	if w == nil || err != nil {
		return nil, nil, err
	}
	v, err := s.b.current(ctx, w.ID)
	if v == nil || err != nil {
		return nil, nil, err
	}
	state, err := s.b.download(ctx, v)
	return state, v, err
}

// Write makes a new version. The service takes one only from the caller that has the lock, so
// that it is taken for that moment where this store doesn't have it.
func (s *store) Write(ctx context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.b.ensure(ctx, s.name)
	if err != nil {
		return err
	}
	if s.held == "" {
		got, err := s.b.lock(ctx, w.ID, reason(storage.NewLockInfo("write", "", "")))
		if err != nil {
			return err
		}
		if got {
			defer func() { _ = s.b.unlock(context.WithoutCancel(ctx), w.ID, "unlock") }()
		} // else the caller that has it may be who asked to write without a lock: the service decides
	}
	return s.write(ctx, w, state)
}

func (s *store) write(ctx context.Context, w *workspace, state []byte) error {
	now, err := s.b.current(ctx, w.ID)
	if err != nil {
		return err
	}
	at, serial := "", int64(0)
	if now != nil {
		at, serial = now.ID, now.Attributes.Serial
	}
	if s.known && at != s.seen {
		return storage.ErrChanged
	}
	head, sum := read(state), md5.Sum(state)
	if head.Serial == nil {
		next := serial + 1
		head.Serial = &next
	}
	attributes := map[string]any{
		"serial": *head.Serial, "md5": hex.EncodeToString(sum[:]), "lineage": head.Lineage,
		// The conditions for replacing an earlier result; the service only sees numbers.
		"force": now != nil && (!s.known || *head.Serial <= serial || head.Lineage != s.lineage),
	}
	if head.Outputs != nil {
		attributes["json-state-outputs"] = base64.StdEncoding.EncodeToString(head.Outputs)
	}
	v, err := s.b.upload(ctx, w.ID, attributes, state)
	if rest.Status(err) == http.StatusConflict {
		// It may have arrived before, and the answer was lost.
		there, found, problem := s.get(ctx)
		if problem != nil || found == nil || found.ID == at || !bytes.Equal(there, state) {
			return errors.Join(fmt.Errorf("the service rejects the state of %s: %w", s.id(), err), problem)
		}
		v, err = found, nil
	}
	if err != nil {
		return fmt.Errorf("the state of %s can't be stored: %w", s.id(), err)
	}
	s.known, s.seen, s.lineage = true, v.ID, head.Lineage
	return nil
}

// A head is what the service wants to know of a state. Encrypted ones have no outputs that
// could be known.
type head struct {
	Serial  *int64
	Lineage string
	Outputs json.RawMessage
}

func read(state []byte) head {
	var h head
	if json.Unmarshal(state, &h) != nil {
		return head{}
	}
	var outputs map[string]map[string]any
	if json.Unmarshal(h.Outputs, &outputs) != nil || outputs == nil {
		h.Outputs = nil
	}
	return h
}

// id is what the incumbents call a lock, which don't know any other of it.
func (s *store) id() string { return s.b.organization + "/" + s.name }

const lockedBy = "Locked by weir: "

// reason is what people see in the workspace, and other runs read.
func reason(info storage.LockInfo) string { return lockedBy + string(info.JSON()) }

// Lock locks the workspace.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.b.ensure(ctx, s.name)
	if err != nil {
		return "", err
	}
	info.Path = s.id()
	got, err := s.b.lock(ctx, w.ID, reason(info))
	if err != nil {
		return "", fmt.Errorf("the workspace %s can't be locked: %w", s.id(), err)
	}
	if !got {
		holder, err := s.holder(ctx)
		if err != nil || holder == nil || holder.ID != info.ID {
			return "", &storage.LockError{Holder: holder, Err: errors.Join(fmt.Errorf("workspace already locked (lock ID: %q)", s.id()), err)}
		}
	}
	s.held = info.ID
	return info.ID, nil
}

// Holder implements storage.Held.
func (s *store) Holder(ctx context.Context) (*storage.LockInfo, error) { return s.holder(ctx) }

// holder is who has the lock, nil for nobody. Of others than weir nothing is known but
// the reason that they gave.
func (s *store) holder(ctx context.Context) (*storage.LockInfo, error) {
	w, err := s.b.find(ctx, s.name)
	if w == nil || err != nil || !w.Attributes.Locked {
		return nil, err
	}
	if text, ours := strings.CutPrefix(w.Attributes.LockedReason, lockedBy); ours {
		if info, err := storage.ParseLockInfo([]byte(text)); err == nil {
			return info, nil
		}
	}
	return &storage.LockInfo{ID: s.id(), Path: s.id(), Info: w.Attributes.LockedReason}, nil
}

// Unlock releases the lock of that id. The name of the workspace stands for the lock of
// anybody.
func (s *store) Unlock(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	holder, err := s.holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		s.held = ""
		return fmt.Errorf("the workspace %s isn't locked", s.id())
	case id != holder.ID && id != s.id() && (holder.ID != s.id() || id != s.held):
		return &storage.LockError{Holder: holder, Err: fmt.Errorf("lock id %q does not match existing lock ID %q", id, holder.ID)}
	}
	w, err := s.b.find(ctx, s.name)
	if w == nil || err != nil {
		return err
	}
	err = s.b.unlock(ctx, w.ID, "unlock")
	if status := rest.Status(err); (status == http.StatusConflict || status == http.StatusForbidden || status == http.StatusNotFound) && id != s.held {
		err = s.b.unlock(ctx, w.ID, "force-unlock") // it is another user's
	}
	if err != nil {
		return fmt.Errorf("the workspace %s can't be unlocked: %w", s.id(), err)
	}
	s.held = ""
	return nil
}
