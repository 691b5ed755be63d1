package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/failpoint"
	"weir.dev/weir/internal/sys/readlimit"
)

// follow returns where a path leads, following symbolic links also when
// nothing is at the end of them.
func follow(path string) (string, error) {
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or nothing there
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// special reports whether there is something that can be written to, but not
// replaced: a device such as the null device, or a pipe.
func special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// modeOf is the permissions of a file, or the given ones without one.
func modeOf(path string, without os.FileMode) os.FileMode {
	if there, err := os.Stat(path); err == nil {
		return there.Mode().Perm()
	}
	return without
}

// Names of unfinished files, which a crash leaves behind.
const (
	tempSuffix = ".weir-new"
	keepSuffix = ".weir-old"
	infoSuffix = ".new" // of package durable, for the information about the lock
)

func tempPrefix(path string) string {
	return "." + strings.TrimPrefix(filepath.Base(path), ".") + "."
}

// temps are the files that runs have left beside a file which were killed. The caller holds the
// lock.
func temps(path string) (list []string) {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, tempPrefix(path)) && (strings.HasSuffix(name, tempSuffix) || strings.HasSuffix(name, keepSuffix) || strings.HasSuffix(name, infoSuffix)) {
			list = append(list, filepath.Join(folder, name))
		}
	}
	return list
}

// writeTemp writes a complete file beside path, safely on disk.
func writeTemp(disk *durable.Disk, path string, content []byte, mode os.FileMode) (*durable.File, error) {
	file, err := disk.CreateTemp(filepath.Dir(path), tempPrefix(path)+"*"+tempSuffix)
	if err != nil {
		return nil, err
	}
	if err = overwrite(file, content); err == nil {
		err = file.Chmod(mode)
	}
	if err != nil {
		file.Close()
		_ = disk.Remove(file.Name())
		return nil, err
	}
	return file, nil
}

// overwrite gives an open file another content, safely on disk.
func overwrite(file *durable.File, content []byte) error {
	failpoint.Half("state: half", func() { _, _ = file.WriteAt(content[:len(content)/2], 0) })
	if _, err := file.WriteAt(content, 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(content))); err != nil {
		return err
	}
	return file.Sync()
}

// replace gives the file at path another content; see the package comment.
// When it fails, the old content is in place, unless the file system has no second names
// and the new name couldn't be put on the disk.
func (s *Store) replace(path string, content []byte) error {
	failpoint.At("state: before")
	if special(path) {
		return os.WriteFile(path, content, 0o600)
	}
	temp, err := writeTemp(s.disk, path, content, modeOf(path, 0o600))
	if err != nil {
		return err
	}
	failpoint.At("state: beside")
	if runtime.GOOS == "windows" {
		return s.replaceClosed(temp, path, content)
	}

	old := s.openOld(path)
	keep := ""
	if old != nil {
		keep = strings.TrimSuffix(temp.Name(), tempSuffix) + keepSuffix
		if s.disk.Link(path, keep) != nil {
			keep = ""
		}
	}
	locked := s.held != nil && lockFile(temp.File) == nil
	if err := s.disk.Move(temp.Name(), path); err != nil {
		temp.Close()
		_ = s.disk.Remove(temp.Name())
		if keep != "" {
			_ = s.disk.Remove(keep)
		}
		s.closeOld(old)
		return err
	}
	failpoint.At("state: renamed")
	// Before the old file is written to: as long as the new name isn't on the disk, a
	// machine that fails comes back with the old file there, and that would be torn.
	if err := s.disk.SyncFolder(filepath.Dir(path)); err != nil {
		if keep != "" {
			_ = s.disk.Move(keep, path)
		}
		temp.Close()
		s.closeOld(old)
		return err
	}

	// The new state is in place. The rest is for those who know the old file.
	back := keep != "" && overwrite(old, content) == nil
	failpoint.At("state: overwritten")
	back = back && s.disk.Move(keep, path) == nil
	failpoint.At("state: back")
	if !back && keep != "" {
		_ = s.disk.Remove(keep)
	}
	_ = s.disk.SyncFolder(filepath.Dir(path)) // either file has the new content
	if !back && locked {
		s.held.more = append(s.held.more, s.held.file)
		s.held.file = temp
		return nil
	}
	s.closeOld(old)
	temp.Close()
	return nil
}

// replaceClosed is the rest of replace where a file that is open can't be replaced. A locked
// state is overwritten, and the complete copy is beside it until then, for restore.
func (s *Store) replaceClosed(temp *durable.File, path string, content []byte) error {
	temp.Close()
	if s.held == nil {
		err := s.disk.Move(temp.Name(), path)
		if err != nil {
			_ = s.disk.Remove(temp.Name())
		}
		return err
	}
	err := overwrite(s.held.file, content)
	if err == nil {
		_ = s.disk.Remove(temp.Name())
	}
	return err
}

// restore completes a state that a killed run was overwriting.
func restore(path string, state *durable.File) error {
	old, err := (&held{file: state}).read()
	if err != nil || json.Valid(old) {
		return err
	}
	for _, name := range temps(path) {
		if content, err := readlimit.File(name); err == nil && json.Valid(content) {
			return overwrite(state, content)
		}
	}
	return nil // reading it finds the damage
}

// openOld opens the file that is replaced, nil without one, or when it isn't the one that we
// locked.
func (s *Store) openOld(path string) *durable.File {
	if s.held != nil {
		if isAt(s.held.file.File, path) {
			return s.held.file
		}
		return nil
	}
	old, err := s.disk.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return old
}

func (s *Store) closeOld(old *durable.File) {
	if old != nil && (s.held == nil || old != s.held.file) {
		old.Close()
	}
}
