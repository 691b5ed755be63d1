// Package schemacache caches provider schemas on disk, by the hash of their package, so that
// commands need no process to read them.
//
// It owns the files: how they are named, checked, replaced and thrown away. It doesn't know
// what is in them. Whatever goes wrong with a file is as if it weren't there.
package schemacache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/sys/readlimit"
)

// A Cache is a directory of files.
type Cache struct {
	Dir string
	// Limit is how large all files together may be, in bytes; 0 stands for
	// DefaultLimit.
	Limit int64
}

// DefaultLimit holds the schemas of about twenty large providers.
const DefaultLimit = 256 << 20

// The beginning of each file says what it is, and in which form.
const magic = "weir schemas 1\n"

const (
	suffix = ".schemas"
	// fresh begins the names of files that are being written, or were when a process ended.
	fresh = ".new-"
	// used is how old a file's time may be before it is said that it is in use.
	used = 24 * time.Hour
)

// path is where what belongs to a key is kept.
func (c Cache) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.Dir, hex.EncodeToString(sum[:])[:32]+suffix)
}

// Load returns what was stored under a key. A file that isn't as it was written is
// removed.
func (c Cache) Load(key string) ([]byte, bool) {
	path := c.path(key)
	file, err := readlimit.File(path)
	if err != nil {
		return nil, false
	}
	data, ok := bytes.CutPrefix(file, []byte(magic+key+"\n"))
	if ok = ok && len(data) >= sha256.Size; ok {
		sum := sha256.Sum256(data[sha256.Size:])
		ok = bytes.Equal(sum[:], data[:sha256.Size])
	}
	if !ok {
		_ = os.Remove(path)
		return nil, false
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > used {
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
	return data[sha256.Size:], true
}

// Store keeps data under a key, and throws away what wasn't used for longest where
// all is too large. That it can't is nobody's problem.
func (c Cache) Store(key string, data []byte) {
	if strings.Contains(key, "\n") || os.MkdirAll(c.Dir, 0o700) != nil {
		return
	}
	temp, err := os.CreateTemp(c.Dir, fresh+"*")
	if err != nil {
		return
	}
	defer os.Remove(temp.Name())
	sum := sha256.Sum256(data)
	_, err = temp.Write(slices.Concat([]byte(magic+key+"\n"), sum[:], data))
	if cmp.Or(err, temp.Close()) != nil || os.Rename(temp.Name(), c.path(key)) != nil {
		return
	}
	c.shrink(c.path(key))
}

// shrink removes files until the rest are small enough, but not the one to keep.
func (c Cache) shrink(keep string) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return
	}
	type file struct {
		path string
		size int64
		at   time.Time
	}
	var files []file
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), fresh) && time.Since(info.ModTime()) > used {
			_ = os.Remove(filepath.Join(c.Dir, e.Name())) // the caller that wrote it is gone
		}
		if err != nil || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		files = append(files, file{filepath.Join(c.Dir, e.Name()), info.Size(), info.ModTime()})
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range files {
		if total <= cmp.Or(c.Limit, DefaultLimit) {
			return
		}
		if f.path != keep && os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}
