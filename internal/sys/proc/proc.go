// Package proc starts processes in their own group. An interrupt at the terminal reaches only
// the engine, which decides what to send to its children.
//
// It owns what that takes on each system: the group, that a child doesn't outlive the engine
// where the kernel sees to it (Linux; it sees to the child alone and not to what that
// started), and that one in the background may still ask for a password at the terminal (Linux
// too). It doesn't know what the processes are for.
package proc

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts a command in a new group. Where the system can do it, the
// child gets the signal when this process dies in whatever way.
func Start(cmd *exec.Cmd, onDeath syscall.Signal) error {
	cmd.SysProcAttr = attributes(onDeath)
	done := make(chan error, 1)
	starter.once.Do(func() {
		starter.jobs = make(chan func())
		go work(starter.jobs)
	})
	starter.jobs <- func() { done <- cmd.Start() }
	return <-done
}

// starter has the functions for a thread that lives as long as this process: the
// kernel takes the end of the thread that started a child for the end of the
// parent, and the runtime ends threads as it likes.
var starter struct {
	once sync.Once
	jobs chan func()
}

func work(jobs <-chan func()) {
	runtime.LockOSThread()
	for job := range jobs {
		job()
	}
}

// Interrupt asks a child and all that it started in its group to end.
func Interrupt(p *os.Process) { interrupt(p) }

// Kill ends a child and all that it started in its group.
func Kill(p *os.Process) { kill(p) }
