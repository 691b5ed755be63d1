// Package daemonserver runs the daemon, which serves commands for other weir processes and caches
// providers and modules for each directory.
//
// It owns for which directories something is kept, and how long. It doesn't know who may ask,
// and what the commands do.
package daemonserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/sys/proc"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/daemon"
	"weir.dev/weir/internal/ui/output"
)

// A Host is the process that stays.
type Host struct {
	*output.Screen
	Program    string
	Environ    []string
	Getenv     func(string) string
	Executable string
	User       int
	Exit       func(int)
	// Run does a task. A broken process isn't used again.
	Run func(*Task) (code int, broken bool)
}

// Commands are "daemon" and those below it.
func Commands[E any](of func(E) Host) []*commands.Command[E] {
	return []*commands.Command[E]{{
		Name:     "daemon",
		Synopsis: "Run a background process that speeds up later commands",
		Long:     "Serves the plan, validate, show, why and impact commands of this user and build, in any directory. It ends after an interrupt, \"daemon stop\", or a while without commands. Providers stay running, and only edited files are read again. Results are the same as without it. WEIR_DAEMON=off runs a command without the daemon.",
		Setup: func(e E, fs *flag.FlagSet) commands.Runner {
			idle := fs.Duration("idle", 15*time.Minute, "End after `DURATION` without commands.")
			most := fs.Int("providers", 32, "Keep at most `N` provider processes in all directories together.")
			detach := fs.Bool("detach", false, "Continue in the background, and return when commands are served.")
			return func(ctx context.Context, _ []string) int { return of(e).start(ctx, *idle, *most, *detach) }
		},
	}, {
		Name:     "daemon status",
		Synopsis: "Show whether a daemon runs, and what it keeps",
		Long:     "Shows the daemon of this user. The exit code is 1 without one.",
		Setup: func(e E, fs *flag.FlagSet) commands.Runner {
			asJSON := fs.Bool("json", false, "Print a JSON object.")
			return func(context.Context, []string) int { return of(e).status(*asJSON) }
		},
	}, {
		Name:     "daemon stop",
		Synopsis: "End the daemon",
		Long:     "Stops the daemon of this user after its current command. The exit code is 1 without one.",
		Setup: func(e E, _ *flag.FlagSet) commands.Runner {
			return func(context.Context, []string) int { return of(e).stop() }
		},
	}}
}

func (h Host) start(ctx context.Context, idle time.Duration, most int, detach bool) int {
	at, code := h.address()
	switch {
	case code != 0:
		return code
	case idle <= 0:
		return h.Fail(diag.BadOption.As("Invalid -idle option"), "How long to wait for commands has to be more than nothing, such as 15m, and it is %s.", idle)
	case most < 0:
		return h.Fail(diag.BadOption.As("Invalid -providers option"), "How many processes of providers are kept can't be negative, and it is %d.", most)
	case detach:
		return h.detach(idle, most)
	}
	kept := &warmth{}
	defer kept.close()
	s := &daemon.Server{Environ: h.Environ, Build: h.Executable, Now: time.Now, Idle: idle, Exit: h.Exit, Kept: kept.list, Do: func(j daemon.Job) (int, bool) {
		defer kept.shrink(most)
		return h.do(j, kept.of(j.Dir))
	}}
	err := s.Serve(at, ctx.Done(), func() { h.Say("Serving at %s.\n", at) })
	switch {
	case errors.Is(err, daemon.ErrRunning):
		return h.Fail(daemon.Running, "It serves at %s. To end it, run \"%s daemon stop\".", at, h.Program)
	case err != nil:
		return h.Fail(daemon.Unserved, "It can't serve at %s: %s.", at, diag.Cause(err))
	}
	return 0
}

// do does a job with what is kept. After an interrupt, providers may not be as they were.
func (h Host) do(j daemon.Job, w *warm) (code int, broken bool) {
	var interrupted atomic.Bool
	signals, over := make(chan os.Signal, 8), make(chan struct{})
	defer close(over)
	go func(from <-chan os.Signal) {
		for {
			select {
			case s := <-from:
				interrupted.Store(true)
				signals <- s
			case <-over:
				return
			}
		}
	}(j.Signals)
	j.Signals = signals
	code, broken = h.Run(&Task{Job: j, Programs: &w.programs, Kept: &w.kept, Memo: &w.memo})
	if interrupted.Load() {
		w.kept.Close()
	}
	return code, broken
}

// detach starts a daemon that continues, and waits until it serves.
func (h Host) detach(idle time.Duration, most int) int {
	pid, line, problem, err := proc.Detach(h.Executable, []string{"daemon", "-idle=" + idle.String(), "-providers=" + strconv.Itoa(most)}, h.Environ)
	switch {
	case problem != "":
		fmt.Fprint(h.Err, problem) // it was set for people there
		return 1
	case err != nil:
		return h.Fail(daemon.Unserved, "It hasn't begun: %s.", diag.Cause(err))
	}
	h.Say("%s It is process %d.\n", line, pid)
	return 0
}

// address is where the daemon of this user is.
func (h Host) address() (string, int) {
	at := daemon.Address(h.Getenv, h.User)
	if at == "" {
		return "", h.Fail(daemon.Absent, "%s says that there is to be none.", daemon.Variable)
	}
	return at, 0
}

func (h Host) tell(what string) (daemon.Status, int) {
	at, code := h.address()
	if code != 0 {
		return daemon.Status{}, code
	}
	s, err := daemon.Tell(at, what, h.Executable)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return s, h.Fail(daemon.Absent, "Commands run by themselves. To start one, run \"%s daemon -detach\".", h.Program)
	case err != nil:
		return s, h.Fail(daemon.Absent.As("The daemon doesn't answer"), "%s: %s.", at, diag.Cause(err))
	}
	return s, 0
}

func (h Host) stop() int {
	s, code := h.tell("stop")
	if code == 0 {
		h.Say("The daemon, process %d, has ended.\n", s.Pid)
	}
	return code
}

func (h Host) status(asJSON bool) int {
	s, code := h.tell("status")
	if code != 0 {
		return code
	}
	if asJSON {
		return h.PrintJSON(s)
	}
	h.Say("A daemon is running as process %d since %s. Commands that it has done: %d.\n", s.Pid, s.Since.Local().Format(time.DateTime), s.Served)
	if !s.Same {
		h.Say("It is another build of weir than this one, whose commands it doesn't do.\n")
	}
	if s.Busy {
		h.Say("A command is under way.\n")
	}
	for i, dir := range s.Kept {
		if i == 0 {
			h.Say("Something is kept for:\n")
		}
		h.Say("  %s\n", dir)
	}
	h.Say("It ends after %s without commands.\n", s.Idle)
	return 0
}

// Running says for people whether a daemon serves this user, and whether that is well.
func Running(h Host) (text string, well bool) {
	at := daemon.Address(h.Getenv, h.User)
	if at == "" {
		return "switched off by " + daemon.Variable, true
	}
	switch s, err := daemon.Tell(at, "status", h.Executable); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return "none is running", true
	case err != nil:
		return "it doesn't answer: " + diag.Cause(err), false
	case !s.Same:
		return fmt.Sprintf("process %d is another build of weir, and serves no commands of this one", s.Pid), false
	default:
		return fmt.Sprintf("process %d, since %s", s.Pid, s.Since.Local().Format(time.DateTime)), true
	}
}
