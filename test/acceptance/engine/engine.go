// Package engine runs a compatible program with real providers in its own directory, and
// compares its plans with recorded plans of OpenTofu.
//
// IAC_BIN names the engine. -update records the plans of the engine at hand: do so
// with a peer only.
package engine

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	update = flag.Bool("update", false, "record the plans instead of comparing them")
	whole  = flag.String("whole", "", "`directory` in which to leave the whole plans, normalised, for a look at differences")
)

// Platform is the name of this machine's kind in mirrors of providers.
const Platform = runtime.GOOS + "_" + runtime.GOARCH

// A Provider is a plugin on this machine.
type Provider struct {
	Source  string // "hashicorp/aws"
	Version string
	Plugin  string // the program
}

// An Engine works in a directory.
type Engine struct {
	t      *testing.T
	name   string
	binary string
	dir    string
	env    []string

	Parallelism int // of plans and applies, 64 at first
}

// Start prepares a directory for the engine, and a mirror with providers. Plans are
// recorded under the given name. Without an engine the test is skipped.
func Start(t *testing.T, name string, providers ...Provider) *Engine {
	t.Helper()
	binary := os.Getenv("IAC_BIN")
	if binary == "" {
		t.Skip("IAC_BIN names no engine (make aws and make servers set it)")
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{t: t, name: name, binary: binary, dir: t.TempDir(), Parallelism: 64}

	// The mirror is for the hosts of both peers; its packages are links, because
	// plugins are big.
	mirror := t.TempDir()
	for _, p := range providers {
		plugin, err := filepath.Abs(p.Plugin)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
			release := filepath.Join(mirror, host, filepath.FromSlash(p.Source), p.Version)
			if err := errors.Join(os.MkdirAll(release, 0o777), os.Symlink(filepath.Dir(plugin), filepath.Join(release, Platform))); err != nil {
				t.Fatal(err)
			}
		}
	}
	settings := filepath.Join(mirror, "cli.tfrc")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror), 0o666); err != nil {
		t.Fatal(err)
	}
	e.Setenv("TF_CLI_CONFIG_FILE="+settings, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	return e
}

// Setenv adds NAME=VALUE to the engine's environment.
func (e *Engine) Setenv(settings ...string) { e.env = append(e.env, settings...) }

// Write puts the files of a folder of testdata into the directory, over those that
// are there.
func (e *Engine) Write(folder string) {
	e.t.Helper()
	from := os.DirFS(filepath.Join("testdata", folder))
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		to := filepath.Join(e.dir, name)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o777))
		}
		text, err := fs.ReadFile(from, name)
		return errors.Join(err, os.WriteFile(to, text, 0o666))
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

// Run runs the engine and returns what it prints to standard output. It has to end
// with one of the given exit codes, 0 if none is given.
func (e *Engine) Run(args []string, codes ...int) []byte {
	e.t.Helper()
	cmd := exec.Command(e.binary, args...)
	cmd.Dir, cmd.Env = e.dir, slices.Concat(os.Environ(), e.env)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	if use := cmd.ProcessState; use != nil {
		e.t.Logf("%s: %.1f s of CPU", args[0], (use.UserTime() + use.SystemTime()).Seconds())
	}
	if code == 0 && len(codes) == 0 || slices.Contains(codes, code) {
		return out.Bytes()
	}
	e.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), problems.Bytes())
	return nil
}

// Apply makes a plan, holds it to the recorded one of that name and applies it.
func (e *Engine) Apply(name string, args ...string) {
	e.t.Helper()
	e.Run(append([]string{"plan", "-input=false", "-no-color", e.parallel(), "-out=plan"}, args...))
	e.compare(name, e.Run([]string{"show", "-json", "plan"}))
	e.Run([]string{"apply", "-input=false", "-no-color", e.parallel(), "plan"})
}

func (e *Engine) parallel() string { return fmt.Sprintf("-parallelism=%d", e.Parallelism) }

// Settled asks for another plan, which has to be empty.
func (e *Engine) Settled(name string) {
	e.t.Helper()
	e.Run([]string{"plan", "-input=false", "-no-color", e.parallel(), "-detailed-exitcode", "-out=plan"}) // 2 if it isn't
	e.compare(name, e.Run([]string{"show", "-json", "plan"}))
}
