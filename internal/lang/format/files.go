package format

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// suffixes are those of the files that have the layout. JSON has none.
var suffixes = []string{
	".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl",
	".tfmock.hcl", ".tofumock.hcl", ".tfquery.hcl", ".tfcomponent.hcl", ".tfdeploy.hcl", ".tfbackend.hcl",
}

// Suffixes lists the endings of the names of files that can be laid out.
func Suffixes() []string { return append([]string(nil), suffixes...) }

// Has reports whether a file of this name can be laid out.
func Has(name string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// ignored reports whether a name in a directory is an editor's or hidden.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// Find lists the files of a directory that can be laid out, in the order of their names, with
// those of subdirectories in their places if recursive is set. It continues after a directory
// that can't be read and gives the first such error at the end.
func Find(dir string, recursive bool) ([]string, error) {
	entries, failed := os.ReadDir(dir)
	if failed != nil {
		failed = fmt.Errorf("cannot read directory %s: %w", dir, failed)
	}
	var found []string
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case ignored(name):
		case entry.IsDir():
			if !recursive {
				continue
			}
			below, err := Find(filepath.Join(dir, name), true)
			if err != nil && failed == nil {
				failed = err
			}
			found = append(found, below...)
		case Has(name):
			found = append(found, filepath.Join(dir, name))
		}
	}
	return found, failed
}

// A File is one file before and after.
type File struct {
	Path   string
	Before []byte
	After  []byte    // the same as Before if the file is wrong
	Diags  diag.List // what is wrong with the syntax
	Err    error     // why the file can't be read
}

// Changed reports whether the file doesn't have the layout.
func (f File) Changed() bool { return !bytes.Equal(f.Before, f.After) }

// Diff shows the change as `fmt -diff` does, nothing without one.
func (f File) Diff() []byte { return Diff("old/"+f.Path, "new/"+f.Path, f.Before, f.After) }

// Files reads and lays out files, on all processors, and answers in the order
// of the paths. It writes nothing.
func Files(paths []string) []File {
	files := make([]File, len(paths))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		wg.Go(func() {
			for i := range next {
				files[i] = read(paths[i])
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	wg.Wait()
	return files
}

func read(path string) File {
	f := File{Path: path}
	if f.Before, f.Err = readlimit.File(path); f.Err == nil {
		f.After, f.Diags = Check(f.Before, path)
	}
	return f
}

// Write writes files as they are to be, and answers in their order.
func Write(files []File) []error {
	errs := make([]error, len(files))
	var due []durable.Replacement
	var of []int // their places in files
	for i, f := range files {
		mode := os.FileMode(0o644)
		if info, err := os.Stat(f.Path); err == nil {
			mode = info.Mode().Perm()
		}
		path, err := filepath.EvalSymlinks(f.Path) // what a link leads to is the user's file
		if err != nil {
			errs[i] = err
			continue
		}
		due, of = append(due, durable.Replacement{Path: path, Content: f.After, Mode: mode}), append(of, i)
	}
	for n, err := range durable.ReplaceMany(due) {
		errs[of[n]] = err
	}
	return errs
}

// Targets are the files that names of files and directories stand for, those of the
// current directory without any.
func Targets(names []string, recursive bool) ([]string, diag.List) {
	if len(names) == 0 {
		names = []string{"."}
	}
	var paths []string
	var diags diag.List
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			diags.Add(diag.Unreadable.As("Invalid file or directory path").New(diag.Error, "No file or directory at %s", name))
		case info.IsDir():
			found, err := Find(name, recursive)
			if err != nil {
				diags.Add(diag.Unreadable.As("Failed to read directory").New(diag.Error, "%s.", err))
			}
			paths = append(paths, found...)
		case !Has(name):
			diags.Add(diag.Unreadable.As("Invalid file extension").New(diag.Error, "Only %s files can be processed with fmt; %s is none of them.", strings.Join(Suffixes(), ", "), name))
		default:
			paths = append(paths, name)
		}
	}
	return paths, diags
}
