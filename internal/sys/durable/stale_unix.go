//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// movesOpen: a file can get another name while it is open.
const movesOpen = true

// cannotSync reports whether an error says that a folder can't be synced, rather than that it
// wasn't.
func cannotSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EBADF) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission)
}

// hold marks a temporary file as one that somebody writes, until it is closed or the
// process ends. It is false when somebody took it for one that was left behind.
func hold(file *os.File) bool {
	fd := int(file.Fd()) // #nosec G115 descriptors are small
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err != syscall.EWOULDBLOCK // without locks nothing is removed either
	}
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) != nil || st.Nlink > 0
}

// removeStale removes the temporary files of paths in one folder that runs have left which
// were killed.
func removeStale(folder string, paths ...string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	ours := make(map[string]bool, len(paths))
	for _, path := range paths {
		before, _, _ := strings.Cut(temporary(path), "*")
		ours[before] = true
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".new")
		dot := strings.LastIndexByte(name, '.') + 1
		if !ok || !ours[name[:dot]] || name[dot:] == "" || strings.Trim(name[dot:], "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		file, err := os.OpenFile(filepath.Join(folder, e.Name()), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil { // #nosec G115 descriptors are small
			_ = os.Remove(file.Name())
		}
		file.Close()
	}
}

// removeStaleFolders removes the scratch folders of a name that runs of this user have left
// which were killed.
func removeStaleFolders(parent, name string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), name+".")
		number, new := strings.CutSuffix(number, ".new")
		if !ok || !new || number == "" || strings.Trim(number, "0123456789") != "" || !e.IsDir() {
			continue
		}
		file, err := os.OpenFile(filepath.Join(parent, e.Name()), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
		if err != nil {
			continue
		}
		fd := int(file.Fd()) // #nosec G115 descriptors are small
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil && int(st.Uid) == os.Geteuid() && syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(file.Name())
		}
		file.Close()
	}
}
