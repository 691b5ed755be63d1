// Package durable replaces files so that a crash, of the process or the machine,
// leaves the old content or the new one and never a mixture.
//
// It owns how: a file beside, of a name that nobody can know and that nothing has
// yet, complete and on the disk before it takes the place of the old one, and the
// folder on the disk after that. No link is followed, neither in place of that
// file nor in place of the old one, which is replaced itself. It refuses to know
// what files are for. States and journals, which are locked and watched while they
// are replaced, have ways of their own and share the last step.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Replace puts a file with a content and a mode in the place of another, or where
// there was none. When it fails, the old one is in place.
func Replace(path string, content []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), temporary(path))
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return Rename(file.Name(), path)
}

// temporary is a pattern for names beside a file, which are hidden.
func temporary(path string) string {
	return "." + strings.TrimPrefix(filepath.Base(path), ".") + ".*.new"
}

// Rename puts a file in the place of another, and that on the disk.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	SyncFolder(filepath.Dir(to))
	return nil
}

// SyncFolder makes last what names a folder has. Some file systems can't; there is
// nothing better to do then.
func SyncFolder(folder string) {
	if d, err := os.Open(folder); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
