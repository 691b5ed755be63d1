package durable

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

// openFile is os.OpenFile, but the file can be moved and removed while it is open, as on other
// systems. Package os doesn't share that right.
func openFile(name string, flag int, _ fs.FileMode) (*os.File, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	access := uint32(windows.GENERIC_READ)
	if flag&os.O_RDWR != 0 {
		access |= windows.GENERIC_WRITE
	}
	if flag&os.O_WRONLY != 0 {
		access = windows.GENERIC_WRITE
	}
	if flag&os.O_APPEND != 0 {
		access = access&^windows.GENERIC_WRITE | windows.FILE_APPEND_DATA
	}
	const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(path, access, shared, nil, disposition(flag), windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}

// disposition says what becomes of a file that is there, and of one that isn't.
func disposition(flag int) uint32 {
	switch {
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return windows.CREATE_NEW
	case flag&os.O_CREATE != 0 && flag&os.O_TRUNC != 0:
		return windows.CREATE_ALWAYS
	case flag&os.O_CREATE != 0:
		return windows.OPEN_ALWAYS
	case flag&os.O_TRUNC != 0:
		return windows.TRUNCATE_EXISTING
	}
	return windows.OPEN_EXISTING
}

// createTemp is os.CreateTemp with openFile.
func createTemp(folder, pattern string) (file *os.File, err error) {
	before, after, _ := strings.Cut(pattern, "*")
	for range 10_000 {
		number := strconv.FormatUint(uint64(rand.Uint32()), 10) // #nosec G404 -- a name that is taken isn't used
		file, err = openFile(filepath.Join(folder, before+number+after), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, err
}

// rename waits a moment for programs that have the file open, such as a virus scanner.
func rename(from, to string) (err error) {
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		err = os.Rename(from, to)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			break
		}
		time.Sleep(wait)
	}
	return err
}
