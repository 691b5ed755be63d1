package local

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errLocked is the error for a file that someone else has locked.
var errLocked error = unix.EAGAIN

// lockFile takes the lock on the whole file until it is closed. It conflicts
// with the record locks of other processes and with other open files.
func lockFile(file *os.File) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		lock = unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(file.Fd(), unix.F_SETLK, &lock)
	}
	if errors.Is(err, unix.EACCES) {
		return errLocked
	}
	return err
}
