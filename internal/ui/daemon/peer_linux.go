package daemon

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// running is the file that this process runs, even if there is another one in its place.
const running = "/proc/self/exe"

// peer is who is at the other end of a socket.
func peer(fd int) (uid, pid int) {
	c, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil || int(c.Gid) != os.Getegid() {
		return -1, 0
	}
	return int(c.Uid), int(c.Pid)
}

// sees reports whether a process has the same root and namespaces as this one.
func sees(pid int) bool {
	for _, name := range []string{"root", "ns/mnt", "ns/net", "ns/user", "ns/pid", "ns/uts", "ns/ipc", "ns/cgroup", "ns/time"} {
		theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/" + name)
		ours, failed := os.Readlink("/proc/self/" + name)
		if errors.Is(failed, fs.ErrNotExist) {
			continue // older kernels have fewer kinds of namespaces
		}
		if err != nil || failed != nil || theirs != ours {
			return false
		}
	}
	return true
}
