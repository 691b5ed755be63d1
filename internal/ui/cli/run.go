// Package cli implements the command line. It reads flags, environment and settings, connects
// the other packages, and turns results into text and exit codes.
//
// It decides nothing about configurations, plans or states. Nothing below it
// knows of flags, terminals or the environment.
package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/completion"
	"weir.dev/weir/internal/ui/daemonserver"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
)

// Exit codes beyond 0 and 1.
const (
	exitChanges = 2 | succeeded // plan -detailed-exitcode
	exitFormat  = 3             // fmt -check
	exitPanic   = 11            // a bug of this program
)

// succeeded reports exit codes that aren't failures from those of the same number that are. No
// process ends with it.
const succeeded = 1 << 8

// exitCode decides the exit code of a command. A command that printed an error never succeeds, whatever its result: another program can't see the error otherwise.
func exitCode(code int, erred bool) int {
	if erred && (code == 0 || code&succeeded != 0) {
		return 1
	}
	return code &^ succeeded
}

// A Process is what a run takes from outside.
type Process struct {
	Context context.Context
	Args    []string // with the program's name
	Environ []string
	In      *os.File
	Out     *os.File
	Err     *os.File
	Getwd   func() (string, error)
	// Chdir serves -chdir, once, before anything else happens: providers and
	// provisioners expect to be started in that directory.
	Chdir func(string) error
	Home  string        // where the environment doesn't say
	Who   func() string // USER@HOST, for those who wait for a lock
	Exit  func(int)     // ends the process at once, for the third interrupt; nil doesn't
	// Executable is the file of the program, for processes of its own.
	Executable string
	// Run is that of this package, for the tasks of a daemon, and Task what it is about:
	// nil for what the process itself was started for.
	Run  func(Process) int
	Task *daemonserver.Task
}

// Run does what the arguments say and returns the exit code.
func Run(p Process) (code int) {
	var e *env
	defer func() {
		if problem := recover(); problem != nil {
			text := fmt.Sprintf(output.CrashText, problem, debug.Stack())
			if e != nil {
				text = e.Secrets.Mask(text)
			}
			fmt.Fprint(p.Err, text)
			code = exitPanic
		}
	}()
	e, err := newEnv(p)
	if err != nil {
		fmt.Fprintf(p.Err, "%s\n", err)
		return 1
	}
	args, err := commands.Globals(p.Args[1:], p.Chdir, func(d dialect.Dialect) {
		e.Dialect, e.directory.Place.Dialect, e.directory.Place.Unchosen = d, d, false
	})
	if err != nil {
		fmt.Fprintf(p.Err, "%s\n", err)
		return 1
	}
	ctx, stop := e.interrupts.Watch(p.Context)
	defer stop()
	defer func() { // after what closing prints, such as that a lock couldn't be released
		e.close()
		code = exitCode(code, e.Erred.Load() || e.failed.Load())
	}()
	t := e.table()
	t.Running = func(name string) { e.directory.Place.Command = name }
	t.Getenv = func(name string) string { return e.vars[name] }
	t.Near = commands.Near{Workspaces: e.directory.States.NearWorkspaces, Addresses: e.directory.States.NearAddresses}
	t.EditShells = func(change func(shell, text string) string) ([]string, error) {
		return completion.Edit(cmp.Or(e.vars["HOME"], p.Home), change)
	}
	t.Leave = commands.Leave(p.Executable, e.vars["PATH"], append([]string{"WEIR_COMPAT=" + e.Dialect.String()}, p.Environ...))
	return t.Run(ctx, args)
}

// env is what commands share: the outside world and how to print. It holds no
// results.
type env struct {
	*output.Screen
	program string // the name in help texts
	in      *os.File

	inTerminal bool
	secret     func() (string, error) // reads a line that isn't shown
	process    Process

	vars        map[string]string
	originalDir string // path.cwd
	input       bool   // prompts are allowed

	interrupts *terminal.Interrupts
	directory  *workspace.Directory
	lines      *terminal.Lines
	tests      string // the directory of tests

	// failed is set by errors that count whatever a command made of its work, such as that a
	// lock couldn't be released. It is that of the whole command in all its parts.
	failed *atomic.Bool
}

func newEnv(p Process) (*env, error) {
	if len(p.Args) == 0 {
		return nil, errors.New("the arguments lack the program's name")
	}
	e := &env{
		Screen:     &output.Screen{Erred: new(atomic.Bool), Out: p.Out, Err: p.Err, Terminal: terminal.Is(p.Out), ErrTerminal: terminal.Is(p.Err)},
		program:    strings.TrimSuffix(filepath.Base(p.Args[0]), ".exe"),
		in:         p.In,
		inTerminal: terminal.Is(p.In),
		lines:      terminal.NewLines(p.In),
		secret:     func() (string, error) { return terminal.ReadSecret(p.In) },
		process:    p,
		vars:       map[string]string{},
		input:      true,
		failed:     new(atomic.Bool),
	}
	e.interrupts = terminal.NewInterrupts(func(text string) { e.Notice(text) })
	e.interrupts.Exit = p.Exit
	e.ConsolidateWarnings = true
	for _, pair := range p.Environ {
		if name, val, ok := strings.Cut(pair, "="); ok {
			e.vars[name] = val
		}
	}
	e.Coloured = e.vars["FORCE_COLOR"]+e.vars["CLICOLOR_FORCE"] != "" && e.vars["FORCE_COLOR"] != "0" && e.vars["CLICOLOR_FORCE"] != "0"
	e.Plain = e.vars["NO_COLOR"] != "" || e.vars["TERM"] == "dumb" && !e.Coloured
	e.Dumb = e.vars["TERM"] == "dumb"
	e.Automation = e.vars["TF_IN_AUTOMATION"] != ""
	e.ConsolidateErrors = e.Terminal && !e.Automation
	var err error
	if e.originalDir, err = p.Getwd(); err != nil {
		return nil, fmt.Errorf("Error getting pwd: %s", err)
	}
	var chosen bool
	if e.Dialect, chosen, err = commands.Dialect(e.vars["WEIR_COMPAT"], e.program); err != nil {
		return nil, err
	}
	e.Secrets = new(secret.Known)
	e.Command = func(c diag.Command) diag.Command {
		c.Program = cmp.Or(c.Program, e.program)
		return c
	}
	e.Sources = func() map[string][]byte { return e.directory.Place.Sources() }
	e.directory = workspace.New(environment.Options{
		Dir: ".", OriginalDir: e.originalDir, Environ: e.vars, Home: p.Home, Dialect: e.Dialect, Unchosen: !chosen, Program: e.program, Executable: p.Executable,
		Now: time.Now, Random: rand.Reader, Who: p.Who, Saving: e.interrupts.Saving, Interrupted: e.interrupts.Stop(), Secrets: e.Secrets, Reports: e.reports(),
	})
	if t := p.Task; t != nil {
		e.inTerminal, e.lines, e.secret, e.interrupts.Signals = t.Typed.Terminal, terminal.NewLines(t.Typed), t.Typed.Secret, t.Signals
		e.directory.Programs, e.directory.Providers.Kept, e.directory.Place.Memo = t.Programs, t.Kept, t.Memo
	}
	e.Memory = e.directory.Place.Memory()
	if v, ok := e.vars["TF_INPUT"]; ok && (v == "0" || v == "false" || v == "FALSE") {
		e.input = false
	}
	return e, nil
}

func (e *env) close() {
	e.directory.Close()
	e.Screen.Close()
}

// reports are how operations tell.
func (e *env) reports() environment.Reports {
	return environment.Reports{
		Notice:   func(text string) { e.Notice(text) },
		Problem:  func(l diag.List) { e.Diags(l) },
		Aside:    e.AsideDiags,
		Settings: e.SettingsDiags,
		Log:      e.Err,
	}
}

// host is the process for those that a daemon stands in for.
func (e *env) host() daemonserver.Host {
	p := e.process
	return daemonserver.Host{Screen: e.Screen, Program: e.program, Environ: p.Environ, Getenv: func(name string) string { return e.vars[name] }, Executable: p.Executable, User: os.Geteuid(), Exit: p.Exit, Run: func(t *daemonserver.Task) (int, bool) {
		p := e.process
		p.Context, p.Args, p.Environ, p.In, p.Out, p.Err, p.Home, p.Exit, p.Task = context.Background(), t.Args, t.Environ, nil, t.Out, t.Err, t.Home, t.Exit, t
		code := p.Run(p)
		return code, code == exitPanic
	}}
}
