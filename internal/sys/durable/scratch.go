package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A Scratch is a folder for temporary files, which is removed when its owner is done.
type Scratch struct {
	Path string
	held *os.File
}

// NewScratch makes a folder in a parent, "" for the system's directory for temporary files.
// Folders of the same name are removed that killed runs of this user have left there.
func NewScratch(parent, name string) (*Scratch, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	removeStaleFolders(parent, name)
	for {
		path, err := os.MkdirTemp(parent, name+".*.new")
		if err != nil {
			return nil, err
		}
		file, err := os.Open(path) // #nosec G304 of MkdirTemp
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody took it for one that was left behind
		}
		if err != nil {
			_ = os.RemoveAll(path)
			return nil, err
		}
		if hold(file) && isAt(file, path) {
			return &Scratch{path, file}, nil
		}
		file.Close() // the same
	}
}

// isAt reports whether a path leads to an open file.
func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	there, errThere := os.Stat(path)
	return errors.Join(err, errThere) == nil && os.SameFile(opened, there)
}

// Join is the path of a file in the folder.
func (s *Scratch) Join(name string) string { return filepath.Join(s.Path, name) }

// Remove removes the folder with all that is in it. An operation that fails once is made
// again.
func (s *Scratch) Remove() {
	if os.RemoveAll(s.Path) != nil {
		_ = os.RemoveAll(s.Path)
	}
	s.held.Close()
}
