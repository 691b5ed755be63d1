package azurerm

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"weir.dev/weir/internal/state/storage"
)

// noteSuffix stands between the key and what follows it in the names of states, so that
// notes aren't taken for workspaces.
const noteSuffix = ".tfintents"

func (s *store) noteBlob() string {
	return s.b.key + noteSuffix + strings.TrimPrefix(s.blob, s.b.key)
}

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) ([]byte, error) {
	service, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	note, _, err := service.get(ctx, s.noteBlob())
	if missing(err) {
		return nil, nil
	}
	return note, s.noting(err)
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	service, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	if note != nil {
		return s.noting(service.set(ctx, s.noteBlob(), note))
	}
	if err = service.remove(ctx, s.noteBlob()); missing(err) {
		return nil
	}
	return s.noting(err)
}

// noting reports where this user may do with the state alone.
func (s *store) noting(err error) error {
	if status, _ := answer(err); status != http.StatusForbidden && status != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: the blob %s: %w", storage.ErrNoNotes, s.noteBlob(), err)
}
