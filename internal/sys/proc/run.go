package proc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Run runs a command, whose output read takes to its end, until the command and all that
// holds its output have ended. It may open the terminal to ask for something. When ctx ends
// the whole group is interrupted, and killed after grace.
func Run(ctx context.Context, cmd *exec.Cmd, grace time.Duration, read func(io.Reader)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = Start(cmd, syscall.SIGTERM)
	w.Close()
	if err != nil {
		return err
	}
	back := LendTerminal(cmd.Process)
	ended := make(chan error, 1)
	go func() {
		read(r)
		err := cmd.Wait() // not before: its number is the group's
		back(wasInterrupted(err) && ctx.Err() == nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	Interrupt(cmd.Process)
	for _, end := range []func(){
		func() { Kill(cmd.Process) },
		func() { r.Close() }, // who holds it has left the group
	} {
		select {
		case err := <-ended:
			return cmp.Or(err, ctx.Err())
		case <-time.After(grace):
			end()
		}
	}
	return cmp.Or(<-ended, ctx.Err())
}

func wasInterrupted(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}
