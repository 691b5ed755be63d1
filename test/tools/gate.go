package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A gate has two engines and the place of tools, providers and scripts.
type gate struct {
	weir, peer string // binaries
	path       string // folders, as in PATH
	mirror     string
	scripts    string
	out        string
	limit      time.Duration
}

// A result is what comparing a tool with both engines found.
type result struct {
	name, version, about string
	steps                int
	skipped              string   // why, if it was
	broken               string   // what failed in the script
	differences          []string // lines as a diff has them
}

func (r result) failed() bool { return r.broken != "" || len(r.differences) > 0 }

func (r result) outcome() string {
	switch {
	case r.skipped != "":
		return "skipped: " + r.skipped
	case r.broken != "":
		return "broken: " + r.broken
	case len(r.differences) > 0:
		return "differs"
	}
	return fmt.Sprintf("equal in %d steps", r.steps)
}

// skips is the exit code of a script whose tool is missing.
const skips = 77

// compare runs a tool's script with both engines.
func (g gate) compare(name string) (result, error) {
	r := result{name: name}
	text, err := os.ReadFile(filepath.Join(g.scripts, name+".sh"))
	if err != nil {
		return r, err
	}
	r.about = about(string(text))
	var transcripts [2]string
	for i, engine := range []string{g.peer, g.weir} {
		out, last, code, err := g.script(name, engine)
		if err != nil {
			return r, err
		}
		if code == skips {
			r.skipped = last
			return r, nil
		}
		if code != 0 {
			r.broken = fmt.Sprintf("exit %d with %s: %s", code, engine, last)
			return r, nil
		}
		transcripts[i] = out
		if err := os.MkdirAll(g.out, 0o755); err != nil {
			return r, err
		}
		if err := os.WriteFile(filepath.Join(g.out, name+[]string{".opentofu", ".weir"}[i]), []byte(out), 0o644); err != nil {
			return r, err
		}
	}
	r.version, r.steps = facts(transcripts[1])
	if r.steps == 0 {
		r.broken = "no steps"
	}
	r.differences = differences(transcripts[0], transcripts[1])
	return r, nil
}

// script runs a script with an engine, which its tools find as tofu and terraform. It returns
// the transcript, the last line of errors, and the exit code.
func (g gate) script(name, engine string) (out, last string, code int, err error) {
	// The same paths for both engines, so that messages are wrapped alike.
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tools-%d", os.Getpid()))
	defer os.RemoveAll(dir)
	for _, sub := range []string{"bin", "work", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", "", 0, err
		}
	}
	for _, as := range []string{"tofu", "terraform"} {
		if err := os.Symlink(engine, filepath.Join(dir, "bin", as)); err != nil {
			return "", "", 0, err
		}
	}
	settings := filepath.Join(dir, "cli.tfrc")
	if err := os.WriteFile(settings, []byte(cliConfig(g.mirror)), 0o644); err != nil {
		return "", "", 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(g.scripts, name+".sh"))
	cmd.Dir = filepath.Join(dir, "work")
	// Whatever a script starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // for output of what it left behind
	cmd.Env = append(environment(),
		"PATH="+strings.ReplaceAll(filepath.Join(dir, "bin")+":"+strings.Trim(g.path, ":")+":"+os.Getenv("PATH"), "::", ":"),
		"HOME="+filepath.Join(dir, "home"), "TOOLS="+g.scripts, "ENGINES="+filepath.Join(dir, "bin"), "MIRROR="+g.mirror,
		"TF_CLI_CONFIG_FILE="+settings, "WEIR_COMPAT=opentofu", "CHECKPOINT_DISABLE=1")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	return stdout.String(), lines[len(lines)-1], code, err
}

// environment is what scripts get of this program's: nothing that changes how engines behave.
func environment() []string {
	var kept []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "TF_"), strings.HasPrefix(name, "WEIR_"), name == "HOME", name == "PATH", name == "GOFLAGS":
		default:
			kept = append(kept, v)
		}
	}
	return kept
}

func cliConfig(mirror string) string {
	if mirror == "" {
		return "disable_checkpoint = true\n"
	}
	return fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
}
