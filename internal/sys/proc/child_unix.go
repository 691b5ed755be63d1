//go:build unix

package proc

import (
	"os"
	"syscall"
)

// There is nobody left to tell when a group can't be signalled: it has ended.

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func interrupt(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGINT)
	_ = syscall.Kill(-p.Pid, syscall.SIGCONT) // who is stopped hears nothing
}

// apart has a process begin a session of its own, without a terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
