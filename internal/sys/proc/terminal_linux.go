package proc

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is held by the one child that has the terminal.
var terminal sync.Mutex

// LendTerminal lets a running child use the terminal when it asks for it, with a prompt for a
// password for example: a group in the background is stopped then, and would be for ever. Its
// group gets the terminal until it has ended and the function returned is called; interrupted
// reports whether an interrupt at the terminal ended it, of which the engine wasn't reported.
func LendTerminal(p *os.Process) (back func(interrupted bool)) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return func(bool) {}
	}
	fd := int(tty.Fd())
	us := unix.Getpgrp()
	if front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || front != us {
		tty.Close() // it isn't ours to lend
		return func(bool) {}
	}
	modes, _ := unix.IoctlGetTermios(fd, unix.TCGETS)
	var lent bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for stopped(p.Pid) {
			if !lent {
				terminal.Lock()
				lent = true
			}
			_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, p.Pid)
			_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
		}
	}()
	return func(interrupted bool) {
		<-ended
		if lent {
			takeBack(fd, us, modes)
			terminal.Unlock()
			if interrupted {
				_ = syscall.Kill(-us, syscall.SIGINT) // as if it had been in front
			}
		}
		tty.Close()
	}
}

// stopped waits until a child is stopped, or has ended, which is false.
func stopped(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED, nil)
		if err != syscall.EINTR {
			return err == nil
		}
	}
}

// takeBack brings a group to the front, and the terminal to how it was. Anyone who isn't in
// front is stopped for the attempt, unless that signal is blocked.
func takeBack(fd, group int, modes *unix.Termios) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var block, before unix.Sigset_t
	bits := uint(1024 / len(block.Val))
	n := uint(unix.SIGTTOU) - 1
	block.Val[n/bits] |= 1 << (n % bits)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before) == nil {
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, group)
		if modes != nil {
			_ = unix.IoctlSetTermios(fd, unix.TCSETS, modes)
		}
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	}
}
