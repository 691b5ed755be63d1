package install

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/sys/readlimit"
)

// Verified remembers the hashes of packages whose files didn't change since: hashing some
// packages takes longer than all the rest of a plan. Files are reported by size, number, and
// times of modification and status change, the last of which can't be set back.
type Verified struct {
	path string
	mu   sync.Mutex
	// packages is by real directory.
	packages map[string]verifiedPackage
	changed  bool
	settled  time.Duration
}

type verifiedPackage struct {
	Files string `json:"files"`
	Hash  string `json:"hash"`
}

// settled is how old a change must be for a later one to have another time.
const settled = 2 * time.Second

// ReadVerified reads what earlier runs noted in a file; without one, nothing
// is known.
func ReadVerified(path string) *Verified {
	v := &Verified{path: path, packages: make(map[string]verifiedPackage), settled: settled}
	if src, err := readlimit.File(path); err == nil {
		if json.Unmarshal(src, &v.packages) != nil || v.packages == nil {
			v.packages = make(map[string]verifiedPackage)
		}
	}
	return v
}

// Save notes what was found out. That it can't be is no error of the run.
func (v *Verified) Save() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.changed {
		return
	}
	for dir := range v.packages {
		if !isDir(dir) {
			delete(v.packages, dir)
		}
	}
	src, err := json.MarshalIndent(v.packages, "", "  ")
	if err != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(v.path), ".verified")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(src); err == nil && f.Close() == nil {
		os.Rename(f.Name(), v.path)
	}
}

// Hash is the hash of the package in a directory.
func (v *Verified) Hash(dir string) (string, error) { return v.hash(dir) }

func (v *Verified) hash(dir string) (string, error) {
	if v == nil {
		return HashDir(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	files, newest, ok := fingerprint(real)
	v.mu.Lock()
	known := v.packages[real]
	v.mu.Unlock()
	if ok && known.Files == files {
		return known.Hash, nil
	}
	hash, err := HashDir(real)
	if err == nil && ok && time.Since(newest) > v.settled {
		v.mu.Lock()
		v.packages[real] = verifiedPackage{files, hash}
		v.changed = true
		v.mu.Unlock()
	}
	return hash, err
}

// fingerprint describes the files of a package by what the file system knows
// of them. ok is false where that isn't enough.
func fingerprint(dir string) (text string, newest time.Time, ok bool) {
	var b strings.Builder
	ok = true
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		number, changed, known := identity(info)
		ok = ok && known && info.Mode().IsRegular()
		if changed.After(newest) {
			newest = changed
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s %d %d %d %d;", name, info.Size(), number, info.ModTime().UnixNano(), changed.UnixNano())
		return err
	})
	return b.String(), newest, ok && err == nil
}
