package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir.dev/weir/internal/state/storage"
)

// sessions keep a state as a database does: the lock belongs to a connection and ends
// with it, and so does everything that is done under it.
type sessions struct {
	content []byte
	version int
	noted   []byte
	who     *storage.LockInfo // of the caller that has taken the lock last and not released it
	locked  *life
}

func (p *sessions) open(l *life) storage.Backend { return &sessionBackend{p, l} }
func (p *sessions) state() []byte                { return p.content }
func (p *sessions) put(state []byte)             { p.content, p.version = state, p.version+1 }
func (p *sessions) note() bool                   { return p.noted != nil }
func (p *sessions) notes() bool                  { return true }
func (p *sessions) fenced() bool                 { return true }

// taken reports whether a process that is there has the lock.
func (p *sessions) taken() bool { return p.locked != nil && !p.locked.dead() && !p.locked.ended.Load() }

func (p *sessions) holder() *storage.LockInfo {
	if p.taken() {
		return p.who
	}
	return nil
}

type sessionBackend struct {
	*sessions
	life *life
}

func (b *sessionBackend) Workspaces(context.Context) ([]string, error) {
	return nil, storage.ErrWorkspacesNotSupported
}
func (b *sessionBackend) CreateWorkspace(context.Context, string) error { return nil }
func (b *sessionBackend) DeleteWorkspace(context.Context, string) error {
	return storage.ErrWorkspacesNotSupported
}
func (b *sessionBackend) Place(string) string { return "sessions" }
func (b *sessionBackend) State(string) (storage.Store, error) {
	return &connection{sessionBackend: b}, nil
}

// A connection is a session with the server.
type connection struct {
	*sessionBackend
	seen   int // version, -1 where that isn't known
	read   bool
	locked string
	lost   bool
}

var errSession = errors.New("the connection that held the lock was lost, so somebody else may hold the lock by now")

// ask has the server do something. Where the connection is lost the lock goes with it.
func (s *connection) ask(ctx context.Context, label string, do func()) error {
	if s.lost {
		return errSession
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // silence
	defer cancel()
	p := &pending{life: s.life, kind: requesting, label: label, effect: do}
	m := s.life.wait(ctx, p)
	switch m {
	case now, doubled:
		do()
		return nil
	case refused:
		return errors.New("the server refuses")
	case silent:
		do()
	}
	if s.locked != "" {
		s.lost = true
		if s.sessions.locked == s.life {
			s.sessions.locked = nil
		}
	}
	if m == canceled {
		return context.Cause(ctx)
	}
	return errConnection
}

func (s *connection) Read(ctx context.Context) (content []byte, err error) {
	s.read = false
	err = s.ask(ctx, "SELECT state", func() { content, s.seen, s.read = s.content, s.version, true })
	if err != nil {
		content = nil
	}
	return content, err
}

func (s *connection) Write(ctx context.Context, state []byte) error {
	changed := false
	err := s.ask(ctx, "UPDATE state", func() {
		if changed = s.read && s.seen != s.version; !changed {
			s.put(state)
			s.seen, s.read = s.version, true
		}
	})
	if err == nil && changed {
		return storage.ErrChanged
	}
	return err
}

func (s *connection) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	var holder *storage.LockInfo
	taken := false
	err := s.ask(ctx, "LOCK", func() {
		if taken = s.taken(); taken {
			holder = s.who
			return
		}
		s.sessions.locked, s.who = s.life, &info
	})
	switch {
	case err != nil:
		if s.sessions.locked == s.life && s.who.ID == info.ID { // the session ends with the connection
			s.sessions.locked = nil
		}
		return "", err
	case taken:
		return "", &storage.LockError{Holder: holder, Err: errors.New("locked")}
	}
	s.locked = info.ID
	return info.ID, nil
}

func (s *connection) Unlock(ctx context.Context, id string) error {
	if s.locked == "" {
		return fmt.Errorf("no lock %s", id)
	}
	s.locked = ""
	return s.ask(ctx, "UNLOCK", func() {
		if s.sessions.locked == s.life {
			s.sessions.locked, s.who = nil, nil
		}
	})
}

// Note implements storage.Noted.
func (s *connection) Note(ctx context.Context) (note []byte, err error) {
	err = s.ask(ctx, "SELECT note", func() { note = s.noted })
	return note, err
}

// SetNote implements storage.Noted.
func (s *connection) SetNote(ctx context.Context, note []byte) error {
	return s.ask(ctx, "UPDATE note", func() { s.noted = note })
}
