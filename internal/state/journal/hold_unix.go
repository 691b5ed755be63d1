//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

// hold marks a journal as in use for as long as the file is open.
func hold(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOLCK) {
		return nil // a file system without locks; the state's lock has to do
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}

// KnowsBusy reports whether Busy is of any use here.
const KnowsBusy = true

// Busy reports whether a run is writing the journal just now.
func Busy(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}
