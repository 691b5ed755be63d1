// Package durable replaces files so that a crash, of the process or the machine, leaves the
// old content or the new one and never a mixture.
//
// It owns how: a file beside, of a name that nobody can know and that nothing has yet,
// complete and on the disk before it takes the place of the old one, and the folder on the
// disk after that. No link is followed, neither in place of that file nor in place of the old
// one, which is replaced itself. It doesn't know what files are for. States and journals,
// which are locked and watched while they are replaced, have ways of their own on the same
// Disk.
package durable

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Replace is that of the system's disk.
func Replace(path string, content []byte, mode fs.FileMode) error {
	return (*Disk)(nil).Replace(path, content, mode)
}

// A Replacement is what a file is to be.
type Replacement struct {
	Path    string
	Content []byte
	Mode    fs.FileMode
}

// mostAtOnce is how many files are on their way to the disk at the same time. A disk takes
// about as long for one as for many that come together.
const mostAtOnce = 32

// ReplaceMany replaces each of several files as Replace does, and answers in their order.
// They don't depend on one another: after a crash some may be the old ones, others the new.
func ReplaceMany(files []Replacement) []error {
	errs := make([]error, len(files))
	folders := map[string][]int{}
	for i, f := range files {
		folders[filepath.Dir(f.Path)] = append(folders[filepath.Dir(f.Path)], i)
	}
	for folder, in := range folders {
		paths := make([]string, len(in))
		for n, i := range in {
			paths[n] = files[i].Path
		}
		removeStale(folder, paths...)
	}
	atOnce(len(files), func(i int) {
		errs[i] = (*Disk)(nil).Put(files[i].Path, files[i].Content, files[i].Mode)
	})
	names := slices.Collect(maps.Keys(folders))
	atOnce(len(names), func(n int) {
		if err := SyncFolder(names[n]); err != nil {
			for _, i := range folders[names[n]] {
				errs[i] = errors.Join(errs[i], err)
			}
		}
	})
	return errs
}

// atOnce does n things, many at the same time.
func atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, mostAtOnce) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// temporary is a pattern for names beside a file, which are hidden.
func temporary(path string) string {
	return "." + strings.TrimPrefix(filepath.Base(path), ".") + ".*.new"
}

// Rename is that of the system's disk.
func Rename(from, to string) error { return (*Disk)(nil).Rename(from, to) }

// SyncFolder is that of the system's disk.
func SyncFolder(folder string) error { return (*Disk)(nil).SyncFolder(folder) }

// New writes a file that isn't there yet, as a whole or not at all.
func New(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".generated-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	err = os.Link(file.Name(), path)
	if err == nil {
		return SyncFolder(filepath.Dir(path))
	}
	if errors.Is(err, os.ErrExist) {
		return err
	}
	return Rename(file.Name(), path) // where files have one name only
}
