package proc

import (
	"os"
	"syscall"
)

func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// There is no interrupt for a process of another console group.
func interrupt(p *os.Process) { _ = p.Kill() }
func kill(p *os.Process)      { _ = p.Kill() }

func apart() *syscall.SysProcAttr { return attributes(0) }
