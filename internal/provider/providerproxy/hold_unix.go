//go:build unix

package providerproxy

import (
	"os"
	"path/filepath"
	"syscall"
)

// Supported reports whether there are guards on this system.
const Supported = true

// hold makes a file and locks it for as long as the process lives.
func hold(name string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		discard(name)
		f.Close()
	}, nil
}

// busy reports whether somebody holds a file.
func busy(name string) bool {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}
