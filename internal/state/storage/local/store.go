package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/failpoint"
	"weir.dev/weir/internal/sys/readlimit"
)

// A Store is the state file of one workspace.
type Store struct {
	disk            *durable.Disk
	in, out, backup string
	shown           string // in, as the user would write it
	recode          func(old []byte) ([]byte, error)

	mu          sync.Mutex
	held        *held
	placeholder []byte
	// seen is of what Write replaces, found when that is asked; nil where it isn't known.
	seen     func() [sha256.Size]byte
	written  bool // reads come from out
	backedUp bool
}

// held is a lock that this store holds.
type held struct {
	id   string
	file *durable.File // the state file, locked
	path string        // where it is, links followed
	// more are files that were locked as state files later, where the first
	// couldn't be brought back. Their locks are kept for those who wait.
	more    []*durable.File
	created bool // the state file didn't exist before
}

// Placeholder implements storage.Placeholder.
func (s *Store) Placeholder(content []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placeholder = content
	return nil
}

// Read returns the content of the file. One without content is an error,
// unless this run has made it only to lock it.
func (s *Store) Read(context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.out
	var content []byte
	var err error
	if s.in != s.out && !s.written {
		path = s.in
		content, err = readPath(s.in)
	} else {
		content, err = s.read()
	}
	if err == nil && path == s.out {
		s.seen = s.sum(content)
	}
	switch {
	case err != nil:
		return nil, err
	case path == s.out && s.isPlaceholder(content):
		return nil, nil
	case len(bytes.TrimSpace(content)) > 0:
		return content, nil
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	s.seen = nil // whatever is put in its place is better
	return nil, storage.ErrEmptyState
}

// isPlaceholder reports whether the content is what this store put there to lock it.
func (s *Store) isPlaceholder(content []byte) bool {
	return s.held != nil && s.held.created && bytes.Equal(content, s.placeholder)
}

// sum distinguishes contents, which nobody changes.
func (s *Store) sum(content []byte) func() [sha256.Size]byte {
	if s.isPlaceholder(content) {
		content = nil
	}
	return sync.OnceValue(func() [sha256.Size]byte { return sha256.Sum256(content) })
}

// read returns what Write would replace.
func (s *Store) read() ([]byte, error) {
	if s.held == nil || !isAt(s.held.file.File, s.held.path) { // something replaced what we locked
		return readPath(s.out)
	}
	return s.held.read()
}

// read reads through the locked file: closing another descriptor of it could
// release the lock, and on Windows nobody else can read it.
func (h *held) read() ([]byte, error) {
	size, err := h.file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return nil, err
	}
	content := make([]byte, size)
	n, err := h.file.ReadAt(content, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return content[:n], err
}

// has reports whether that is all that is in the file, which may be large.
func (h *held) has(content []byte) bool {
	if size, err := h.file.Seek(0, io.SeekEnd); err != nil || size != int64(len(content)) {
		return false
	}
	got, err := h.read()
	return err == nil && bytes.Equal(got, content)
}

// readPath reads a file; one that is empty or missing is nil.
//
// A reader that opened the file just before it was replaced would see how the old file
// gets its new content. So a file that changed a moment ago is read again
// until its content stays.
func readPath(path string) ([]byte, error) {
	content, recent, err := readOnce(path)
	for range 20 {
		if err != nil || !recent {
			break
		}
		last := content
		content, recent, err = readOnce(path)
		if bytes.Equal(last, content) {
			break
		}
	}
	return content, err
}

// settled is how old a change has to be that can't be under way.
const settled = time.Second

func readOnce(path string) (content []byte, recent bool, err error) {
	file, err := readlimit.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	var room bytes.Buffer
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		room.Grow(int(info.Size()) + bytes.MinRead)
	}
	if _, err = room.ReadFrom(file); err != nil {
		return nil, false, err
	}
	content = room.Bytes()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if len(content) == 0 {
		content = nil
	}
	return content, time.Since(info.ModTime()) < settled, nil
}

// Write replaces the file. The first time, the content that it had before is
// kept as the backup.
func (s *Store) Write(_ context.Context, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.there()
	if err != nil {
		return err
	}
	if s.seen != nil && s.seen() != old.seen {
		return storage.ErrChanged
	}
	next := s.sum(state)
	if old.size == int64(len(state)) && old.seen == next() {
		return nil
	}
	path, err := follow(s.out)
	if err != nil {
		return err
	}
	if err := s.disk.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if s.backup != "" && !s.backedUp && old.size > 0 && old.sum != sha256.Sum256(s.placeholder) {
		if err := s.keepBackup(path); err != nil {
			return fmt.Errorf("failed to create local state backup file: %w", err)
		}
	}
	s.backedUp = true
	if err := s.replace(path, state); err != nil {
		return err
	}
	sum := next()
	s.written, s.seen = true, func() [sha256.Size]byte { return sum } // without the content
	return nil
}

// A content reports what is in a file from anything else.
type content struct {
	sum  [sha256.Size]byte
	seen [sha256.Size]byte // the same, but that of nothing for a placeholder
	size int64
}

// there is what Write would replace. It is read piece by piece: it may be large, and
// only the first Write keeps it.
func (s *Store) there() (content, error) {
	if s.held == nil || !isAt(s.held.file.File, s.held.path) {
		old, err := readPath(s.out)
		return content{sha256.Sum256(old), s.sum(old)(), int64(len(old))}, err
	}
	h := sha256.New()
	size, err := io.Copy(h, io.NewSectionReader(s.held.file, 0, math.MaxInt64))
	c := content{sum: [sha256.Size]byte(h.Sum(nil)), size: size}
	if c.seen = c.sum; s.held.created && size == int64(len(s.placeholder)) && c.sum == sha256.Sum256(s.placeholder) {
		c.seen = sha256.Sum256(nil)
	}
	return c, err
}

// keepBackup keeps what Write would replace.
func (s *Store) keepBackup(path string) error {
	old, err := s.read()
	if err == nil && s.recode != nil {
		old, err = s.recode(old)
	}
	if err != nil {
		return err
	}
	return s.saveBackup(path, old)
}

func (s *Store) saveBackup(statePath string, content []byte) error {
	path, err := follow(s.backup)
	if err != nil {
		return err
	}
	if err := s.disk.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if special(path) {
		return os.WriteFile(path, content, 0o600)
	}
	mode := modeOf(path, modeOf(statePath, 0o600))
	temp, err := writeTemp(s.disk, path, content, mode)
	if err != nil {
		return err
	}
	temp.Close()
	if err := s.disk.Rename(temp.Name(), path); err != nil {
		_ = s.disk.Remove(temp.Name())
		return err
	}
	return nil
}

// Lock locks the file that is written to, which exists from then on.
func (s *Store) Lock(_ context.Context, info storage.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		return "", s.lockError(fmt.Errorf("state %q already locked", s.shown))
	}
	path, err := follow(s.out)
	if err != nil {
		return "", err
	}
	if err := s.disk.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	file, created, err := s.lockPath(path)
	if errors.Is(err, errLocked) {
		return "", s.lockError(err)
	}
	if err != nil {
		return "", err
	}
	failpoint.At("lock: taken")
	h := &held{id: info.ID, file: file, path: path, created: created}
	info.Path = s.shown
	info.Created = time.Now().UTC()
	if err := s.disk.Put(s.infoPath(), info.JSON(), 0o600); err != nil {
		h.release()
		return "", fmt.Errorf("could not write lock info for %q: %w", s.shown, err)
	}
	if runtime.GOOS == "windows" {
		if err := restore(path, file); err != nil {
			h.release()
			return "", err
		}
	}
	for _, name := range temps(path) {
		_ = s.disk.Remove(name)
	}
	s.held = h
	return h.id, nil
}

// lockPath opens and locks the file at a path, and makes sure that this is
// still the file that the path leads to: who held the lock may have removed
// or replaced it.
func (s *Store) lockPath(path string) (file *durable.File, created bool, err error) {
	for range 10 {
		file, err = s.disk.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			file, err = s.createLocked(path)
			if errors.Is(err, os.ErrExist) {
				continue // somebody was faster
			}
			return file, err == nil, err
		}
		if err != nil {
			return nil, false, err
		}
		if err := isFile(file); err != nil {
			file.Close()
			return nil, false, err
		}
		if err = lockFile(file.File); err == nil && isAt(file.File, path) {
			return file, false, nil
		}
		file.Close()
		if err != nil {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("the state file %s is replaced all the time", path)
}

// isFile rejects a pipe or a device, of which states couldn't be read.
func isFile(file *durable.File) error {
	info, err := file.Stat()
	if err == nil {
		err = readlimit.Check(info)
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: file.Name(), Err: err}
	}
	return nil
}

// createLocked makes the file at a path, which is complete and locked as soon
// as it is there. It fails with os.ErrExist when there is one by now.
func (s *Store) createLocked(path string) (*durable.File, error) {
	temp, err := writeTemp(s.disk, path, s.placeholder, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lockFile(temp.File); err == nil {
		failpoint.At("lock: beside")
		err = s.disk.Link(temp.Name(), path)
		failpoint.At("lock: linked")
	}
	_ = s.disk.Remove(temp.Name())
	if err == nil {
		return temp, nil
	}
	temp.Close()
	switch {
	case errors.Is(err, os.ErrNotExist): // who held the lock meanwhile has tidied up
		return nil, os.ErrExist
	case errors.Is(err, os.ErrExist), errors.Is(err, errLocked):
		return nil, err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EROFS):
		// Files may have two names here. A process that is killed while it makes an
		// incomplete one would leave an empty state.
		return nil, err
	}
	// Where files have one name only, it is incomplete for a moment.
	file, err := s.disk.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lockFile(file.File); err == nil {
		err = overwrite(file, s.placeholder)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	there, errThere := os.Stat(path)
	return err == nil && errThere == nil && os.SameFile(opened, there)
}

// lockError reports who holds the lock, as far as is known.
func (s *Store) lockError(err error) *storage.LockError {
	text, readErr := readlimit.File(s.infoPath())
	if readErr != nil {
		return &storage.LockError{Err: err}
	}
	holder, parseErr := storage.ParseLockInfo(text)
	if parseErr != nil {
		return &storage.LockError{Err: errors.Join(err, parseErr)}
	}
	return &storage.LockError{Holder: holder, Err: err}
}

// Holder implements storage.Held.
func (s *Store) Holder(context.Context) (*storage.LockInfo, error) {
	text, err := readlimit.File(s.infoPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	holder, err := storage.ParseLockInfo(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.infoPath(), err)
	}
	return holder, nil
}

// infoPath is the file that describes the lock.
func (s *Store) infoPath() string {
	folder, name := filepath.Split(s.out)
	return filepath.Join(folder, "."+strings.TrimPrefix(name, ".")+".lock.info")
}

// Unlock releases the lock.
func (s *Store) Unlock(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return s.forceUnlock(id)
	}
	if id != s.held.id {
		return s.lockError(fmt.Errorf("invalid lock id: %q. current id: %q", id, s.held.id))
	}
	h := s.held
	s.held = nil
	err := s.disk.Remove(s.infoPath())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	// The file is removed while it is still locked, so that nobody can write
	// to it before.
	if h.created && h.has(s.placeholder) && isAt(h.file.File, h.path) {
		_ = s.disk.Remove(h.path)
	}
	return errors.Join(err, h.release())
}

// release gives up the locks of all files.
func (h *held) release() error {
	var err error
	for _, file := range append(h.more, h.file) {
		err = errors.Join(err, file.Close())
	}
	return err
}

// forceUnlock removes what a run left behind that ended without releasing its
// lock. The lock itself ended with the run.
func (s *Store) forceUnlock(id string) error {
	text, err := readlimit.File(s.infoPath())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the state %q is not locked", s.shown)
	}
	if err != nil {
		return err
	}
	if holder, err := storage.ParseLockInfo(text); err != nil || holder.ID != id {
		return s.lockError(fmt.Errorf("lock id %q does not match existing lock", id))
	}
	path, err := follow(s.out)
	if err != nil {
		return err
	}
	file, err := s.disk.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		defer file.Close()
		err = lockFile(file.File)
	}
	switch {
	case errors.Is(err, errLocked):
		return s.lockError(errors.New("local state cannot be unlocked by another process while the one that locked it is running"))
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	return s.disk.Remove(s.infoPath())
}
