package local

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// errLocked is the error for a file that someone else has locked.
var errLocked error = windows.ERROR_LOCK_VIOLATION

// lockFile takes the lock on the whole file until it is closed.
func lockFile(file *os.File) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 0, math.MaxUint32, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}
