package s3

import (
	"context"
	"fmt"
	"net/http"

	"weir.dev/weir/internal/state/storage"
)

// noteKey is the object that is the note.
func (s *store) noteKey() string { return s.path + ".intents" }

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) ([]byte, error) {
	c, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	note, _, err := s.get(ctx, c, s.noteKey())
	return note, s.noting(err)
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	c, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	if note == nil {
		return s.noting(c.bucket.remove(ctx, s.noteKey()))
	}
	_, err = c.bucket.put(ctx, s.noteKey(), note, s.header(note, s.b.stateTags))
	return s.noting(err)
}

// noting reports where a policy is for the state and its lock alone.
func (s *store) noting(err error) error {
	if err == nil || status(err) != http.StatusForbidden && status(err) != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: the object %q in the bucket %q: %w", storage.ErrNoNotes, s.noteKey(), s.b.bucket, err)
}
