// Package cli is the command line: it reads flags, environment and settings,
// wires the other packages together and turns results into text and exit
// codes.
//
// It decides nothing about configurations, plans or states. Nothing below it
// knows of flags, terminals or the environment.
package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/deprecated"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/dialect"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/terminal"
	"weir.dev/weir/internal/view/stream"
)

// Exit codes beyond 0 and 1.
const (
	exitChanges = 2  // plan -detailed-exitcode
	exitFormat  = 3  // fmt -check
	exitPanic   = 11 // a bug of this program
)

// A Process is what a run takes from outside.
type Process struct {
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
}

// Run does what the arguments say and returns the exit code.
func Run(p Process) (code int) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(p.Err, crashText, problem, debug.Stack())
			code = exitPanic
		}
	}()
	e, err := newEnv(p)
	if err != nil {
		fmt.Fprintf(p.Err, "%s\n", err)
		return 1
	}
	args, err := e.globalFlags(p)
	if err != nil {
		fmt.Fprintf(p.Err, "%s\n", err)
		return 1
	}
	ctx, stop := e.interrupts.Watch(context.Background())
	defer stop()
	defer e.close()
	return dispatch(ctx, e, args)
}

const crashText = `
!!!!!!!!!!!!!!!!!!!!!!!!!!! WEIR CRASH !!!!!!!!!!!!!!!!!!!!!!!!!!!!

weir came upon a state of affairs that it does not expect. That is a mistake in
weir, not in your configuration. Please report it with the text below, after
taking out what is confidential.

panic: %v

%s
!!!!!!!!!!!!!!!!!!!!!!!!!!! WEIR CRASH !!!!!!!!!!!!!!!!!!!!!!!!!!!!
`

// globalFlags handles what stands before the command and returns the rest.
func (e *env) globalFlags(p Process) ([]string, error) {
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, val, hasVal := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-"), "=")
		switch name {
		case "chdir":
			if !hasVal || val == "" {
				return nil, errors.New("Invalid -chdir option: must include an equals sign followed by a directory path, like -chdir=example")
			}
			if err := p.Chdir(val); err != nil {
				return nil, fmt.Errorf("Error handling -chdir option: %s", err)
			}
			args = args[1:]
			continue
		case "compat":
			var err error
			if e.dialect, err = dialect.Parse(val); err != nil {
				return nil, fmt.Errorf("-compat is %q; %s", val, err)
			}
			e.directory.Dialect = e.dialect
			args = args[1:]
			continue
		case "version", "v":
			return append([]string{"version"}, args[1:]...), nil
		}
		break
	}
	return args, nil
}

// dispatch finds the command and runs it.
func dispatch(ctx context.Context, e *env, args []string) int {
	if len(args) > 0 && (args[0] == "-help" || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
		return e.help(args[1:])
	}
	cmd, rest := find(args)
	if cmd == nil {
		return e.unknown(args)
	}
	if cmd.setup == nil { // a group such as state
		if len(rest) > 0 && isHelp(rest[0]) {
			fmt.Fprint(e.out, cmd.usage(e))
			return 0
		}
		if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return e.unknown(args)
		}
		fmt.Fprint(e.err, cmd.usage(e))
		return 1
	}
	rest, err := e.withEnvArgs(cmd, rest)
	if err != nil {
		fmt.Fprintf(e.err, "%s\n", err)
		return 1
	}
	if slices.ContainsFunc(rest, isHelp) {
		fmt.Fprint(e.out, cmd.usage(e))
		return 0
	}
	rest = e.viewFlags(rest)
	return cmd.run(ctx, e, rest)
}

func isHelp(arg string) bool { return arg == "-help" || arg == "--help" || arg == "-h" }

// find looks the command up by one or two words and returns what follows.
func find(args []string) (*command, []string) {
	for n := min(2, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		for _, c := range commands {
			if c.name == name || slices.Contains(c.aliases, name) {
				return c, args[n:]
			}
		}
	}
	return nil, args
}

// withEnvArgs puts arguments from TF_CLI_ARGS_<command> and TF_CLI_ARGS before
// those of the command line.
func (e *env) withEnvArgs(cmd *command, args []string) ([]string, error) {
	specific := "TF_CLI_ARGS_" + strings.NewReplacer(" ", "_", "-", "_").Replace(cmd.name)
	var all []string
	for _, name := range []string{specific, "TF_CLI_ARGS"} {
		words, err := terminal.SplitWords(e.vars[name])
		if err != nil {
			return nil, fmt.Errorf("Error parsing extra CLI args from %s: %s", name, err)
		}
		all = append(all, words...)
	}
	return append(all, args...), nil
}

// viewFlags takes out the flags about presentation that may stand anywhere.
func (e *env) viewFlags(args []string) []string {
	var rest []string
	for i, arg := range args {
		if arg == "--" || arg == "-" {
			return append(rest, args[i:]...)
		}
		name, val, hasVal := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if name == "deprecation" && strings.HasPrefix(arg, "-") && e.deprecation(val) {
			continue
		}
		on := !hasVal || val == "true" || val == "1"
		target := map[string]*bool{
			"no-color":             &e.view.NoColor,
			"compact-warnings":     &e.view.CompactWarnings,
			"consolidate-warnings": &e.view.ConsolidateWarnings,
			"consolidate-errors":   &e.view.ConsolidateErrors,
			"concise":              &e.view.Concise,
		}[name]
		if target == nil || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		*target = on
	}
	return rest
}

// env is what commands share: the outside world and how to print. It holds no
// results.
type env struct {
	program string // the name in help texts
	out     io.Writer
	err     io.Writer
	in      *os.File

	inTerminal, outTerminal bool

	vars        map[string]string
	originalDir string // path.cwd
	dialect     dialect.Dialect
	view        viewOptions
	input       bool // prompts are allowed
	json        bool // results are for programs

	interrupts *terminal.Interrupts
	closers    []func()
	directory  *operation.Directory
	lines      *terminal.Lines
	// stream is set where results are a stream of JSON objects.
	stream   *stream.JSON
	jsonInto string
	tests    string // the directory of tests
	progress stream.Progress
	counter  *stream.Counter
	// deprecations says which deprecation warnings are shown: all, local or none.
	deprecations deprecated.Level
}

// viewOptions are the flags about presentation.
type viewOptions struct {
	NoColor             bool
	CompactWarnings     bool
	ConsolidateWarnings bool
	ConsolidateErrors   bool
	Concise             bool
	ShowSensitive       bool
}

func newEnv(p Process) (*env, error) {
	if len(p.Args) == 0 {
		return nil, errors.New("the arguments lack the program's name")
	}
	e := &env{
		program: strings.TrimSuffix(filepath.Base(p.Args[0]), ".exe"),
		out:     p.Out,
		err:     p.Err,
		in:      p.In,
		vars:    map[string]string{},
		input:   true,
	}
	e.interrupts = terminal.NewInterrupts(e.notice)
	e.interrupts.Exit = p.Exit
	e.view.ConsolidateWarnings = true
	for _, pair := range p.Environ {
		if name, val, ok := strings.Cut(pair, "="); ok {
			e.vars[name] = val
		}
	}
	e.inTerminal, e.outTerminal = terminal.Is(p.In), terminal.Is(p.Out)
	e.lines = terminal.NewLines(p.In)
	var err error
	if e.originalDir, err = p.Getwd(); err != nil {
		return nil, fmt.Errorf("Error getting pwd: %s", err)
	}
	if e.dialect, err = dialectOf(e.vars["WEIR_COMPAT"], e.program); err != nil {
		return nil, err
	}
	e.directory = operation.New(operation.Options{
		Dir: ".", OriginalDir: e.originalDir, Environ: e.vars, Home: p.Home, Dialect: e.dialect, Program: e.program,
		Now: time.Now, Random: rand.Reader, Who: p.Who, Saving: e.interrupts.Saving, Reports: e.reports(),
	})
	if v, ok := e.vars["TF_INPUT"]; ok && (v == "0" || v == "false" || v == "FALSE") {
		e.input = false
	}
	return e, nil
}

// onClose adds something to do when the command has ended, on every path.
func (e *env) onClose(f func()) { e.closers = append(e.closers, f) }

func (e *env) close() {
	e.directory.Close()
	for i := len(e.closers) - 1; i >= 0; i-- {
		e.closers[i]()
	}
	e.closers = nil
}

// reports are how operations tell.
func (e *env) reports() operation.Reports {
	return operation.Reports{
		Notice:  e.notice,
		Problem: func(l diag.List) { e.diags(l) },
		Aside:   e.aside,
		Settings: func(warnings diag.List) {
			fmt.Fprint(e.err, "There are some problems with the CLI configuration:\n"+e.diagText(warnings)+"\n")
		},
		Log: e.err,
	}
}

// aside tells warnings where they don't mix with what a command prints, and
// returns what is left to tell.
func (e *env) aside(diags diag.List) diag.List {
	if e.progress == nil && !diags.HasErrors() {
		// Commands that print the state itself: this is no part of it.
		fmt.Fprint(e.err, e.diagText(diags))
		return nil
	}
	return diags
}

// inAutomation reports whether hints for people at a terminal are unwanted.
func (e *env) inAutomation() bool { return e.vars["TF_IN_AUTOMATION"] != "" }

// dialectOf is the dialect that a setting names, or else the program's own name.
func dialectOf(setting, program string) (dialect.Dialect, error) {
	if setting == "" && program == dialect.Terraform.Command() {
		return dialect.Terraform, nil
	}
	if setting == "" {
		return dialect.OpenTofu, nil
	}
	d, err := dialect.Parse(setting)
	if err != nil {
		err = fmt.Errorf("WEIR_COMPAT is %q; %w", setting, err)
	}
	return d, err
}
