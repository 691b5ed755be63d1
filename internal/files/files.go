// Package files is what expressions learn of files: from the disk, from the
// disk with a record of the answers, or from such a record.
//
// It owns the questions and the record of their answers, with which a saved
// plan can be applied where the files are others, or not there at all. It
// refuses to know who asks, and writes nothing.
package files

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
)

// A Source answers questions about files. Relative paths start at its working
// directory. It is asked by several goroutines at once.
type Source interface {
	// Read returns the content of a file.
	Read(path string) ([]byte, error)
	// Sum returns a digest of a file, computed by sum, which name tells apart.
	Sum(path, name string, sum func(io.Reader) (string, error)) (string, error)
	// Mode says what there is at a path; links are followed.
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
type Disk struct{}

// Read implements Source.
func (Disk) Read(path string) ([]byte, error) { return os.ReadFile(path) }

// Sum implements Source.
func (Disk) Sum(path, _ string, sum func(io.Reader) (string, error)) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sum(f)
}

// Mode implements Source.
func (Disk) Mode(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// Match implements Source.
func (Disk) Match(dir, pattern string) ([]string, error) {
	matches, err := doublestar.FilepathGlob(filepath.Join(dir, pattern))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, match := range matches {
		info, err := os.Stat(match)
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

// Abs implements Source.
func (Disk) Abs(path string) (string, error) { return filepath.Abs(path) }

// Home implements Source.
func (Disk) Home() (string, error) { return os.UserHomeDir() }
