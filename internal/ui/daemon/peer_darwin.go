package daemon

import "golang.org/x/sys/unix"

// running is empty where only the program's name leads to its file.
const running = ""

// peer is who is at the other end of a socket.
func peer(fd int) (uid, pid int) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0
	}
	return int(c.Uid), 0
}

// sees: there is one view of files and networks.
func sees(int) bool { return true }
