package fsfuncs

import (
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Watched asks a disk, and notices files that answer otherwise than before.
type Watched struct {
	Disk
	seed maphash.Seed

	mu      sync.Mutex
	answers map[string]uint64 // by question
	changed map[string]bool   // by path
}

// NewWatched is a disk that is watched.
func NewWatched(disk Disk) *Watched {
	return &Watched{Disk: disk, seed: maphash.MakeSeed(), answers: map[string]uint64{}, changed: map[string]bool{}}
}

// Settle takes the answers so far for those that changes are noticed from.
func (w *Watched) Settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.changed)
}

// Changed are the paths whose answers have changed since, sorted.
func (w *Watched) Changed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.changed))
}

// note holds an answer to the one before. Anything that can't be answered has an answer of its
// own.
func (w *Watched) note(question, path string, answer []byte, err error) {
	now := maphash.Bytes(w.seed, answer)
	if err != nil {
		now = maphash.String(w.seed, "error: "+err.Error())
	}
	question += " " + path
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, known := w.answers[question]; known && before != now {
		w.changed[path] = true
	}
	w.answers[question] = now
}

// Read implements Source.
func (w *Watched) Read(path string) ([]byte, error) {
	content, err := w.Disk.Read(path)
	w.note("read", path, content, err)
	return content, err
}

// Sum implements Source.
func (w *Watched) Sum(path, name string, sum func(io.Reader) (string, error)) (string, error) {
	text, err := w.Disk.Sum(path, name, sum)
	w.note("sum "+name, path, []byte(text), err)
	return text, err
}

// Mode implements Source.
func (w *Watched) Mode(path string) (fs.FileMode, error) {
	mode, err := w.Disk.Mode(path)
	w.note("mode", path, []byte(mode.String()), err)
	return mode, err
}

// Match implements Source.
func (w *Watched) Match(dir, pattern string) ([]string, error) {
	list, err := w.Disk.Match(dir, pattern)
	w.note("match "+pattern, dir, []byte(strings.Join(list, "\x00")), err)
	return list, err
}
