// Package cli_test runs the scripts of the command line, and libraries that drive it.
package cli_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir.dev/weir/internal/ui/cli"
	"weir.dev/weir/internal/ui/daemon"
	"weir.dev/weir/internal/ui/terminal"
)

// scripts stand beside the commands.
const scripts = "../../../internal/ui/cli/testdata/"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"weir":      func() { os.Exit(runProcess()) },
		"terraform": func() { os.Exit(runProcess()) },
	})
}

func runProcess() int {
	executable, _ := exec.LookPath(os.Args[0])
	if code, done := daemon.Ask(daemon.Client{
		Args: os.Args, Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getwd: os.Getwd, Build: executable,
		Terminal: terminal.Is, Secret: terminal.ReadSecret, Signals: terminal.Signals,
	}); done {
		return code
	}
	return cli.Run(cli.Process{
		Context: context.Background(),
		Args:    os.Args, Environ: os.Environ(),
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getwd: os.Getwd, Chdir: os.Chdir, Exit: os.Exit, Executable: executable, Run: cli.Run,
	})
}

// TestScripts runs the scripts in the folder script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 scripts + "script",
		UpdateScripts:       slices.Contains(os.Args, "-update"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"nest": nest, "silent": silent},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("TF_IN_AUTOMATION", "1")
			return os.Mkdir(home, 0o755)
		},
	})
}

// silent starts a server that takes connections and never says anything:
// silent VARIABLE, which is set to its address.
func silent(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("silent VARIABLE")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, c)
		}
	}()
	ts.Setenv(args[0], listener.Addr().String())
}

// nest writes a file with something that encloses itself:
// nest FILE TIMES BEFORE OPEN INSIDE CLOSE AFTER.
func nest(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 7 {
		ts.Fatalf("nest FILE TIMES BEFORE OPEN INSIDE CLOSE AFTER")
	}
	times, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := args[2] + strings.Repeat(args[3], times) + args[4] + strings.Repeat(args[5], times) + args[6] + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
