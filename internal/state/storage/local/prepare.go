package local

import (
	"context"
	"fmt"
	"path/filepath"
)

// Prepare fails when the folder can't be written to, or when it lacks the room
// for two states of the size and a journal of it: one under its final name and
// one that is about to replace it.
func (s *Store) Prepare(_ context.Context, size int64) error {
	path, err := follow(s.out)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := s.disk.MakeFolders(folder, 0o755); err != nil {
		return err
	}
	temp, err := s.disk.CreateTemp(folder, tempPrefix(path)+"*"+tempSuffix)
	if err != nil {
		return err
	}
	temp.Close()
	_ = s.disk.Remove(temp.Name())
	const copies = 3
	if free, ok := freeBytes(folder); ok && free < copies*size {
		return fmt.Errorf("the file system of %s has %d KiB left, and %d KiB may be needed for two states and the journal", folder, free>>10, copies*size>>10+1)
	}
	return nil
}
