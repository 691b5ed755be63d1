// Package filewatch waits for files to change, and records which files are read.
//
// It owns looking at files again and again. It doesn't know what is in them.
package filewatch

import (
	"context"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"weir.dev/weir/internal/lang/fsfuncs"
)

// A Watcher looks at files and at the names in directories.
type Watcher struct {
	Dir      string // where relative names start
	Interval time.Duration
	// Only says which names in directories matter; nil is all.
	Only func(name string) bool
	seen map[string]stamp
}

// A stamp differs when a file was written again.
type stamp struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
}

func (w *Watcher) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.Dir, name)
}

// look stamps files, and what directories have; what isn't there has no stamp.
func (w *Watcher) look(names, dirs []string) map[string]stamp {
	now := map[string]stamp{}
	add := func(name string, info fs.FileInfo, err error) {
		if err == nil && !info.IsDir() {
			now[name] = stamp{info.ModTime(), info.Size(), info.Mode()}
		}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(w.path(dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if w.Only != nil && !w.Only(e.Name()) {
				continue
			}
			info, err := e.Info()
			add(filepath.Join(dir, e.Name()), info, err)
		}
	}
	for _, name := range names {
		info, err := os.Stat(w.path(name))
		add(filepath.Clean(name), info, err)
	}
	return now
}

// Begin remembers how the files are now.
func (w *Watcher) Begin(names, dirs []string) { w.seen = w.look(names, dirs) }

// Extend also remembers files that nothing was known of yet.
func (w *Watcher) Extend(names, dirs []string) {
	for name, s := range w.look(names, dirs) {
		if _, known := w.seen[name]; !known {
			w.seen[name] = s
		}
	}
}

// Changed are the files that aren't as they were at Begin, now.
func (w *Watcher) Changed(names, dirs []string) []string {
	return differing(w.seen, w.look(names, dirs))
}

// Wait returns the files that aren't as they were at Begin, once they have stayed
// as they are for a moment; nothing when the context ends first.
func (w *Watcher) Wait(ctx context.Context, names, dirs []string) []string {
	var before []string
	var last map[string]stamp
	for {
		now := w.look(names, dirs)
		changed := differing(w.seen, now)
		if len(changed) > 0 && slices.Equal(changed, before) && maps.Equal(now, last) {
			return changed
		}
		before, last = changed, now
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.Interval):
		}
	}
}

func differing(a, b map[string]stamp) []string {
	var list []string
	for name, s := range b {
		if a[name] != s {
			list = append(list, name)
		}
	}
	for name := range a {
		if _, there := b[name]; !there {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Reads notes the files that expressions learn of.
type Reads struct {
	fsfuncs.Source
	mu    sync.Mutex
	names map[string]bool
	dirs  map[string]bool
}

// NewReads asks a source and notes what for.
func NewReads(source fsfuncs.Source) *Reads {
	return &Reads{Source: source, names: map[string]bool{}, dirs: map[string]bool{}}
}

func (r *Reads) note(list map[string]bool, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list[filepath.Clean(name)] = true
}

// Read implements fsfuncs.Source.
func (r *Reads) Read(path string) ([]byte, error) {
	r.note(r.names, path)
	return r.Source.Read(path)
}

// Sum implements fsfuncs.Source.
func (r *Reads) Sum(path, kind string, sum func(io.Reader) (string, error)) (string, error) {
	r.note(r.names, path)
	return r.Source.Sum(path, kind, sum)
}

// Mode implements fsfuncs.Source.
func (r *Reads) Mode(path string) (fs.FileMode, error) {
	r.note(r.names, path)
	return r.Source.Mode(path)
}

// Match implements fsfuncs.Source.
func (r *Reads) Match(dir, pattern string) ([]string, error) {
	r.note(r.dirs, dir)
	found, err := r.Source.Match(dir, pattern)
	for _, name := range found {
		r.note(r.names, filepath.Join(dir, name))
	}
	return found, err
}

// Files and Dirs are what was queried so far.
func (r *Reads) Files() []string { return r.sorted(r.names) }

// Dirs are the directories that names were looked for in.
func (r *Reads) Dirs() []string { return r.sorted(r.dirs) }

func (r *Reads) sorted(list map[string]bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(list))
}
