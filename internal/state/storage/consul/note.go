package consul

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

func (s *store) noteKey() string { return strings.TrimRight(s.key, "/") + "/.intents" }

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) ([]byte, error) {
	note, err := s.b.kv.get(ctx, s.noteKey())
	if note == nil || err != nil {
		return nil, s.noting(err)
	}
	return note.Value, nil
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	if note == nil {
		return s.noting(s.b.kv.remove(ctx, s.noteKey(), nil))
	}
	return s.noting(s.b.kv.set(ctx, s.noteKey(), note))
}

// noting reports where a policy is for the state and its lock alone.
func (s *store) noting(err error) error {
	if status := rest.Status(err); status != http.StatusForbidden && status != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: the key %s: %w", storage.ErrNoNotes, s.noteKey(), err)
}
