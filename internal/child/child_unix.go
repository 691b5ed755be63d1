//go:build unix

package child

import (
	"os"
	"syscall"
)

// There is nobody left to tell when a group can't be signalled: it has ended.

func interrupt(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) }
func kill(p *os.Process)      { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
