package install

import (
	"io/fs"
	"syscall"
	"time"
)

// identity is a file's number and when its status changed last.
func identity(info fs.FileInfo) (uint64, time.Time, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, time.Time{}, false
	}
	return stat.Ino, time.Unix(int64(stat.Ctim.Sec), int64(stat.Ctim.Nsec)), true
}
