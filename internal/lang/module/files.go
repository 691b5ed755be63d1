// Package module reads a directory of configuration files into the blocks of one module. It
// selects the files, merges override files, finds installed modules, and reads variable files.
//
// It evaluates nothing and doesn't know what blocks mean beyond what merging
// needs. Disks are behind Files and the network behind Fetcher.
package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/sys/readlimit"
)

// Files is where directories and files are read from, by several goroutines at
// once.
type Files interface {
	// List returns the names of the files in a directory, sorted.
	List(dir string) ([]string, error)
	ReadFile(path string) ([]byte, error)
}

// A With is files with one more in the root module.
type With struct {
	Files
	Name string
	Data []byte
}

// List implements Files. The name comes last.
func (w With) List(dir string) ([]string, error) {
	names, err := w.Files.List(dir)
	if filepath.Clean(dir) == "." {
		names = append(names, w.Name)
	}
	return names, err
}

// ReadFile implements Files.
func (w With) ReadFile(path string) ([]byte, error) {
	if filepath.Clean(path) == w.Name {
		return w.Data, nil
	}
	return w.Files.ReadFile(path)
}

// Edited is files of which an editor has some open: their text in the editor counts.
type Edited struct {
	Files
	// Root is where relative paths start, as an absolute path.
	Root string
	// Text is by absolute path.
	Text map[string][]byte
}

func (e Edited) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(e.Root, name)
}

// List implements Files. Files that were never saved are among the others.
func (e Edited) List(dir string) ([]string, error) {
	names, err := e.Files.List(dir)
	at := e.path(dir)
	more := false
	for path := range e.Text {
		if filepath.Dir(path) == at && !slices.Contains(names, filepath.Base(path)) {
			names, more = append(names, filepath.Base(path)), true
		}
	}
	if more {
		slices.Sort(names)
		return names, nil
	}
	return names, err
}

// ReadFile implements Files.
func (e Edited) ReadFile(path string) ([]byte, error) {
	if text, ok := e.Text[e.path(path)]; ok {
		return text, nil
	}
	return e.Files.ReadFile(path)
}

// Disk is the file system of the machine.
type Disk struct {
	// Root is where relative paths start; empty is the working directory of the
	// process.
	Root string
	// FS has the files that relative paths lead to in place of Root, unless nil.
	FS fs.FS
	// Interrupted is closed when nobody waits any longer for who writes to a pipe; nil
	// is never.
	Interrupted <-chan struct{}
}

// within reports whether a path leads into FS.
func (d Disk) within(path string) bool { return d.FS != nil && !filepath.IsAbs(path) }

func (d Disk) path(name string) string {
	if d.Root == "" || d.Root == "." || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Root, name)
}

// List implements Files.
func (d Disk) List(dir string) ([]string, error) {
	var entries []fs.DirEntry
	var err error
	if d.within(dir) {
		entries, err = fs.ReadDir(d.FS, filepath.ToSlash(filepath.Clean(dir)))
	} else {
		entries, err = os.ReadDir(d.path(dir))
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// MaxSource is how long a file of configuration may be, in bytes: several times what
// generators write. Beyond that, what it takes to read it may be more than a machine
// has.
const MaxSource = 64 << 20

// sources are the ends of names of files of configuration, and of what is noted of it.
var sources = []string{".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json", ".hcl", ".tfquery.json", "modules.json"}

// IsSource reports whether a name is that of a file of configuration.
func IsSource(name string) bool {
	return slices.ContainsFunc(sources, func(end string) bool { return strings.HasSuffix(name, end) })
}

// ReadFile implements Files. A file of configuration has to be a file and no longer
// than MaxSource.
func (d Disk) ReadFile(path string) ([]byte, error) {
	if !IsSource(path) {
		return d.readAny(path)
	}
	var info fs.FileInfo
	var err error
	if d.within(path) {
		info, err = fs.Stat(d.FS, filepath.ToSlash(filepath.Clean(path)))
	} else {
		info, err = os.Stat(d.path(path))
	}
	if err == nil { // else reading fails with the error that callers know
		err = limited(info)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	return d.readAny(path)
}

// readAny reads what need not be a file, such as a pipe with values of variables.
func (d Disk) readAny(path string) ([]byte, error) {
	if d.within(path) {
		return fs.ReadFile(d.FS, filepath.ToSlash(filepath.Clean(path)))
	}
	return readlimit.Any(d.path(path), d.Interrupted)
}

// limited rejects what can't be a file of configuration.
func limited(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a directory")
	case info.Mode()&fs.ModeNamedPipe != 0 && strings.Contains(info.Name(), ".tfvars"): // values may come from another program
		return nil
	case info.Size() > MaxSource:
		return fmt.Errorf("it has %d MiB, and a file of configuration may have %d: split it, or read the data in it with file or jsondecode", info.Size()>>20, MaxSource>>20)
	}
	return readlimit.Check(info)
}

// Memory has files by path, as a saved plan has them.
type Memory map[string][]byte

// List implements Files.
func (m Memory) List(dir string) ([]string, error) {
	dir = filepath.Clean(dir)
	var names []string
	for path := range m {
		if filepath.Dir(filepath.Clean(path)) == dir {
			names = append(names, filepath.Base(path))
		}
	}
	if names == nil && dir != "." {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return names, nil
}

// ReadFile implements Files.
func (m Memory) ReadFile(path string) ([]byte, error) {
	if data, ok := m[path]; ok {
		return data, nil
	}
	path = filepath.Clean(path)
	for name, data := range m {
		if filepath.Clean(name) == path {
			return data, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// ignored reports whether a file is an editor's and never configuration.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// The extensions of configuration files.
var extensions = []string{".tofu.json", ".tf.json", ".tofu", ".tf"}

// extension returns the configuration extension of a file name, or empty.
func extension(name string) string {
	for _, ext := range extensions {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// IsTofuFile reports whether Terraform ignores a file of this name.
func IsTofuFile(name string) bool { return isTofu(extension(name)) }

// isTofu reports whether an extension is of the files that Terraform ignores.
func isTofu(ext string) bool { return ext == ".tofu" || ext == ".tofu.json" }

// Select chooses the configuration files among the names of a directory: the
// primary ones and the override files, each sorted. A .tofu file takes the
// place of the .tf file with the same base name, where .tofu files are read.
func Select(names []string, d dialect.Dialect) (primary, override []string) {
	present := make(map[string]bool, len(names))
	if d.TofuFiles() {
		for _, name := range names {
			present[name] = true
		}
	}
	for _, name := range names {
		ext := extension(name)
		if ext == "" || ignored(name) || isTofu(ext) && !d.TofuFiles() {
			continue
		}
		base := strings.TrimSuffix(name, ext)
		if (ext == ".tf" || ext == ".tf.json") && present[base+strings.Replace(ext, ".tf", ".tofu", 1)] {
			continue
		}
		if base == "override" || strings.HasSuffix(base, "_override") {
			override = append(override, name)
		} else {
			primary = append(primary, name)
		}
	}
	slices.Sort(primary)
	slices.Sort(override)
	return primary, override
}

// IsEmpty reports whether the names of a directory have no configuration.
func IsEmpty(names []string, d dialect.Dialect) bool {
	primary, override := Select(names, d)
	return len(primary) == 0 && len(override) == 0
}

// nothing reports whether the names of a directory have nothing that a call
// could load, a stack included.
func nothing(names []string, d dialect.Dialect) bool {
	return IsEmpty(names, d) && !HasStack(names)
}

// IsStackFile reports whether a file is part of a stack, and whether its name is one
// that the language has given up.
func IsStackFile(name string) (is, old bool) {
	for _, ext := range []string{".tfcomponent.hcl", ".tfcomponent.json", ".tfstack.hcl", ".tfstack.json"} {
		if strings.HasSuffix(name, ext) && name != ext {
			return true, strings.HasPrefix(ext, ".tfstack")
		}
	}
	return false, false
}

// HasStack reports whether the names of a directory have a stack.
func HasStack(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		is, _ := IsStackFile(name)
		return is
	})
}
