package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// Commands that change objects run in a second process, which the first only
// watches over: it passes on signals and the exit code. When the first one is
// killed, by a person, by a supervisor or for its share of memory, the second
// notices, begins nothing further, waits for what providers are just doing,
// saves the state and releases the lock, as after an interrupt. So nothing is
// in doubt afterwards. When the second one is killed there is the journal.
const (
	// keptEnv tells the second process that it is one; it doesn't pass that on.
	keptEnv = "WEIR_KEPT"
	// aloneEnv keeps from starting a second process.
	aloneEnv = "WEIR_SINGLE_PROCESS"
	// keptPipe is what the second process reads signals from. It ends with the
	// first process.
	keptPipe = 3
)

// keeps reports whether the command is to run in a second process.
func keeps(p Process) bool {
	if p.Self == "" || slices.ContainsFunc(p.Environ, func(pair string) bool {
		return strings.HasPrefix(pair, keptEnv+"=") || strings.HasPrefix(pair, aloneEnv+"=")
	}) {
		return false
	}
	if slices.ContainsFunc(p.Args, isHelp) {
		return false
	}
	for _, arg := range p.Args[1:] {
		if !strings.HasPrefix(arg, "-") && arg != "stacks" { // a group of commands
			return arg == "apply" || arg == "destroy"
		}
	}
	return false
}

// keep runs the command in a second process. ok is false if that isn't
// possible.
func keep(p Process) (code int, ok bool) {
	read, write, err := os.Pipe()
	if err != nil {
		return 0, false
	}
	defer write.Close()
	cmd := exec.Command(p.Self, p.Args[1:]...)
	cmd.Args[0] = p.Args[0]
	cmd.Env = append(slices.Clip(p.Environ), keptEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.In, p.Out, p.Err
	cmd.ExtraFiles = []*os.File{read}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = cmd.Start()
	read.Close()
	if err != nil {
		return 0, false
	}
	go func() {
		for range signals {
			_, _ = write.Write([]byte{'s'}) // its end is noticed below
		}
	}()
	var ended *exec.ExitError
	switch err := cmd.Wait(); {
	case err == nil:
		return 0, true
	case !errors.As(err, &ended):
		return 1, true
	case ended.ExitCode() >= 0:
		return ended.ExitCode(), true
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), true
	}
	return 1, true
}

// keptBy is the pipe to the first process if this is the second one, else nil.
func keptBy(p *Process) *os.File {
	at := slices.IndexFunc(p.Environ, func(pair string) bool { return strings.HasPrefix(pair, keptEnv+"=") })
	if at < 0 || p.Self == "" {
		return nil
	}
	p.Environ = slices.Delete(slices.Clone(p.Environ), at, at+1)
	_ = os.Unsetenv(keptEnv)
	syscall.CloseOnExec(keptPipe)
	return os.NewFile(keptPipe, "signals")
}

// follow counts each byte from the first process as a signal, and its death as
// one more.
func (i *interrupts) follow(pipe *os.File, e *env, cancel func()) {
	b := make([]byte, 1)
	for {
		_, err := pipe.Read(b)
		if err == nil {
			i.interrupted(e, cancel)
			continue
		}
		if errors.Is(err, io.EOF) && !i.stopped() {
			i.interrupted(e, cancel)
		}
		return
	}
}
