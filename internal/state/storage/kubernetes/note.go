package kubernetes

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/rest"
)

// noteLabel reports which secrets are notes. They lack the label of states, so that nobody
// takes them for one.
const noteLabel = "tfintents"

func (s *store) noteName() string { return "intents-" + s.b.secretName(s.name) }

// Note implements storage.Noted.
func (s *store) Note(ctx context.Context) ([]byte, error) {
	client, err := s.b.open(ctx)
	if err != nil {
		return nil, err
	}
	o, err := get(ctx, client, s.b.secrets(), s.noteName())
	if o == nil || err != nil {
		return nil, s.noting(err)
	}
	return base64.StdEncoding.DecodeString(text(o.part("data")[noteLabel]))
}

// SetNote implements storage.Noted.
func (s *store) SetNote(ctx context.Context, note []byte) error {
	client, err := s.b.open(ctx)
	if err != nil {
		return err
	}
	if note == nil {
		return s.noting(remove(ctx, client, s.b.secrets(), s.noteName(), noteLabel))
	}
	for range tries {
		o, err := get(ctx, client, s.b.secrets(), s.noteName())
		if err != nil {
			return s.noting(err)
		}
		if o == nil {
			o = s.b.object(s.name, "intents-")
			delete(o.part("metadata", "labels"), isState)
			o.part("metadata", "labels")[noteLabel] = "true"
		}
		o.part("data")[noteLabel] = base64.StdEncoding.EncodeToString(note)
		if _, err = put(ctx, client, s.b.secrets(), o); !conflict(err) && (rest.Status(err) != http.StatusNotFound || o.version() == "") {
			return s.noting(err)
		}
	}
	return fmt.Errorf("the secret %s can't be written: %w", s.noteName(), errAgain)
}

// noting reports where a role is for the secret and the lease of the state alone.
func (s *store) noting(err error) error {
	if status := rest.Status(err); status != http.StatusForbidden && status != http.StatusUnauthorized {
		return err
	}
	return fmt.Errorf("%w: the secret %s: %w", storage.ErrNoNotes, s.noteName(), err)
}
