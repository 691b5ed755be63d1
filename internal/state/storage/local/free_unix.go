//go:build linux || darwin

package local

import "syscall"

// freeBytes is the room that is left in the file system of a folder.
func freeBytes(folder string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || s.Blocks == 0 {
		return 0, false // some file systems don't tell
	}
	return int64(s.Bavail) * int64(s.Bsize), true // #nosec G115 -- no file system has 2^63 bytes
}
