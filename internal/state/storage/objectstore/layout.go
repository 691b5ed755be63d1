package objectstore

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"weir.dev/weir/internal/state/storage"
)

// A Layout is where the states of workspaces are in a bucket: that of the default one is
// PREFIX/KEY, any other PREFIX/NAME/KEY.
type Layout struct{ Prefix, Key string }

// Path is the key of a workspace's state.
func (l Layout) Path(workspace string) string {
	if workspace == storage.DefaultWorkspace {
		return path.Join(l.Prefix, l.Key)
	}
	return path.Join(l.Prefix, workspace, l.Key)
}

// Workspaces are those that have a state in the bucket, and the default one.
func (l Layout) Workspaces(ctx context.Context, service *Service) ([]string, error) {
	below := ""
	if prefix := strings.Trim(l.Prefix, "/"); prefix != "" {
		below = prefix + "/"
	}
	keys, err := service.List(ctx, below)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, key := range keys {
		name, rest, found := strings.Cut(strings.TrimPrefix(key, below), "/")
		if found && name != "" && rest == l.Key && name != storage.DefaultWorkspace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append([]string{storage.DefaultWorkspace}, names...), nil
}

// ClearNote removes the note beside a state that was removed, where that is allowed.
func (s *State) ClearNote(ctx context.Context) error {
	if err := s.SetNote(ctx, nil); !errors.Is(err, storage.ErrNoNotes) {
		return err
	}
	return nil
}
