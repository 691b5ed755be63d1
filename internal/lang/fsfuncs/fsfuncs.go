// Package fsfuncs reads files for expressions: from the disk, from the disk with a record of the
// answers, or from such a record.
//
// It owns the questions and the record of their answers, with which a saved plan can be
// applied where the files are others, or not there at all. It doesn't know who asks, and
// writes nothing.
package fsfuncs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"

	"weir.dev/weir/internal/sys/readlimit"
)

// A Source answers questions about files. Relative paths start at its working
// directory. It is asked by several goroutines at once.
type Source interface {
	// Read returns the content of a file.
	Read(path string) ([]byte, error)
	// Sum returns a digest of a file, computed by sum, which name reports apart.
	Sum(path, name string, sum func(io.Reader) (string, error)) (string, error)
	// Mode is the kind of file at a path; links are followed.
	Mode(path string) (fs.FileMode, error)
	// Match lists the regular files below a directory that match a pattern, by
	// their paths from there with slashes.
	Match(dir, pattern string) ([]string, error)
	// Abs makes a path absolute.
	Abs(path string) (string, error)
	// Home is the user's home directory.
	Home() (string, error)
}

// Disk is the files that are there.
type Disk struct {
	// Root is where relative paths start; empty is the working directory of the
	// process.
	Root string
	// FS has the files that relative paths lead to in place of Root, unless nil.
	FS fs.FS
	// HomeDir is the user's; empty asks the environment of the process.
	HomeDir string
}

func (d Disk) path(name string) string {
	if d.Root == "" || d.Root == "." || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Root, name)
}

// within reports whether a path leads into FS.
func (d Disk) within(path string) bool { return d.FS != nil && !filepath.IsAbs(path) }

func (d Disk) open(path string) (fs.File, error) {
	if d.within(path) {
		return d.FS.Open(filepath.ToSlash(filepath.Clean(path)))
	}
	return open(d.path(path))
}

func (d Disk) stat(path string) (fs.FileInfo, error) {
	if d.within(path) {
		return fs.Stat(d.FS, filepath.ToSlash(filepath.Clean(path)))
	}
	return os.Stat(d.path(path))
}

// Read implements Source.
func (d Disk) Read(path string) ([]byte, error) {
	f, err := d.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(readlimit.Limited(f, path, int64(MaxContent)))
}

// MaxContent is how much of a file can be read, in bytes. It is set before anything is read.
var MaxContent = 128 << 20

// open opens what can be read at once: a named pipe may wait for somebody to
// write to it. A pipe without a name is one that a shell made for this process.
func open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 && !nameless(path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a named pipe")}
	}
	return os.Open(path)
}

// nameless reports whether what a path leads to can't be found by its name.
func nameless(path string) bool {
	_, err := filepath.EvalSymlinks(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Sum implements Source.
func (d Disk) Sum(path, _ string, sum func(io.Reader) (string, error)) (string, error) {
	f, err := d.open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return sum(readlimit.Limited(f, path, int64(MaxContent))) // a device may have no end
	}
	return sum(f)
}

// Mode implements Source.
func (d Disk) Mode(path string) (fs.FileMode, error) {
	info, err := d.stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// Match implements Source.
func (d Disk) Match(dir, pattern string) ([]string, error) {
	stat := os.Stat
	look := glob
	if d.within(dir) {
		stat = d.stat
		look = func(pattern string) ([]string, error) { return globIn(d.FS, pattern) }
	} else {
		dir = d.path(dir)
	}
	matches, err := look(filepath.ToSlash(filepath.Join(dir, pattern)))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, match := range matches {
		info, err := stat(match)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		rel, err := filepath.Rel(dir, match)
		if err != nil {
			return nil, err
		}
		found = append(found, filepath.ToSlash(rel))
	}
	return found, nil
}

// glob finds the paths that match a pattern.
func glob(pattern string) ([]string, error) {
	base, rest := doublestar.SplitPattern(pattern)
	if rest == "" || rest == "." || rest == ".." { // there is nothing to look through
		return doublestar.FilepathGlob(pattern)
	}
	matches, err := globIn(os.DirFS(base), rest)
	for i, match := range matches {
		matches[i] = filepath.Join(base, match)
	}
	return matches, err
}

// globIn finds the files of a file system that match a pattern.
func globIn(all fs.FS, pattern string) ([]string, error) {
	files := &counted{FS: all}
	matches, err := doublestar.Glob(files, pattern)
	if files.read > maxEntries {
		err = fmt.Errorf("there are more than %d files and directories to look at", maxEntries)
	}
	return matches, err
}

// maxEntries is how many entries of directories a pattern may be held against.
const maxEntries = 300_000

// counted is files that are found in directories until there are too many.
type counted struct {
	fs.FS
	read int
}

// ReadDir implements fs.ReadDirFS.
func (c *counted) ReadDir(name string) ([]fs.DirEntry, error) {
	if c.read > maxEntries {
		return nil, fs.ErrInvalid
	}
	entries, err := fs.ReadDir(c.FS, name)
	c.read += len(entries)
	return entries, err
}

// Stat implements fs.StatFS.
func (c *counted) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

// Abs implements Source.
func (d Disk) Abs(path string) (string, error) { return filepath.Abs(d.path(path)) }

// Home implements Source.
func (d Disk) Home() (string, error) {
	if d.HomeDir != "" {
		return d.HomeDir, nil
	}
	return os.UserHomeDir()
}
