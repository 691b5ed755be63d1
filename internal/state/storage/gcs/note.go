package gcs

import (
	"context"
	"fmt"
	"net/http"

	"weir.dev/weir/internal/state/storage"
)

const noteSuffix = ".tfintents"

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) ([]byte, error) {
	service, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	note, _, err := service.get(ctx, s.b.object(s.name, noteSuffix), s.b.sealing.headers())
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
	if note == nil {
		if err = service.remove(ctx, s.b.object(s.name, noteSuffix), ""); missing(err) {
			err = nil
		}
		return s.noting(err)
	}
	_, err = service.put(ctx, s.b.object(s.name, noteSuffix), note, "", s.b.sealing.kmsKey, s.b.sealing.headers())
	return s.noting(err)
}

// noting reports where this user may do with the state and its lock alone.
func (s *store) noting(err error) error {
	if err == nil || status(err) != http.StatusForbidden && status(err) != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: %s: %w", storage.ErrNoNotes, s.b.url(s.name, noteSuffix), err)
}
