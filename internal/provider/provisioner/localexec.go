package provisioner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/sys/proc"
)

// localExec runs a command on this machine.
type localExec struct{}

// Schema implements Provisioner.
func (localExec) Schema() *schema.Block {
	optional := func(t cty.Type) *schema.Attribute { return &schema.Attribute{Type: t, Optional: true} }
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"command":     {Type: cty.String, Required: true},
		"interpreter": optional(cty.List(cty.String)),
		"working_dir": optional(cty.String),
		"environment": optional(cty.Map(cty.String)),
		"quiet":       optional(cty.Bool),
	}}
}

// stopGrace is how long a command may take to end after it was interrupted.
const stopGrace = 5 * time.Second

func (localExec) check(config cty.Value) error {
	if command := config.GetAttr("command"); command.IsKnown() && text(config, "command") == "" {
		return errors.New("The command must be a non-empty string")
	}
	return nil
}

// Run implements Provisioner.
func (localExec) Run(ctx context.Context, at Place, config cty.Value, output func(string)) error {
	command := text(config, "command")
	if command == "" {
		return errors.New("the command must not be empty")
	}
	args := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		args = []string{"cmd", "/C"}
	}
	if v := config.GetAttr("interpreter"); !v.IsNull() && v.LengthInt() > 0 {
		args = nil
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if !e.IsNull() {
				args = append(args, e.AsString())
			}
		}
	}
	args = append(args, command)
	failed := &CommandError{Command: command}
	if v := config.GetAttr("quiet"); v.IsNull() || v.False() {
		output(fmt.Sprintf("Executing: %q", args))
	} else {
		output("Executing: Suppressed by quiet=true")
		failed.Command = "suppressed by quiet=true"
	}
	cmd := exec.Command(args[0], args[1:]...)
	if cmd.Dir = text(config, "working_dir"); !filepath.IsAbs(cmd.Dir) && at.Dir != "" {
		cmd.Dir = filepath.Join(at.Dir, cmd.Dir)
	}
	cmd.Env = at.environment(config.GetAttr("environment"), trace.TraceParent(ctx))
	failed.Err = proc.Run(ctx, cmd, stopGrace, func(r io.Reader) {
		lines(r, func(line string) {
			output(line)
			if failed.Output += line + "\n"; len(failed.Output) > maxOutput {
				failed.Output = failed.Output[len(failed.Output)-maxOutput:]
			}
		})
	})
	if errors.Is(failed.Err, context.Canceled) { // it ended well, but nobody knows whether it did everything
		failed.Err = interrupted{failed.Err}
	}
	if failed.Err != nil {
		return failed
	}
	return nil
}

// interrupted is the end of a command that an interrupt kept from starting or asked to end.
type interrupted struct{ error }

func (interrupted) Error() string   { return "interrupted" }
func (e interrupted) Unwrap() error { return e.error }

// maxOutput is how much of the end of a command's output its error repeats.
const maxOutput = 8 << 10

// A CommandError is a command that failed, with the end of what it printed.
type CommandError struct {
	Command, Output string
	Err             error
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("Error running command '%s': %s. Output: %s", e.Command, e.Err, e.Output)
}

// Unwrap is what went wrong, without what the command says of itself.
func (e *CommandError) Unwrap() error { return e.Err }

// environment is that of the place with the given additions. parent is what spans of the
// command belong below, empty for none.
func (at Place) environment(add cty.Value, parent string) []string {
	env := slices.Clone(at.Environ)
	if env == nil {
		env = os.Environ()
	}
	if parent != "" {
		env = append(env, "TRACEPARENT="+parent)
	}
	if add.IsNull() {
		return env
	}
	for it := add.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if !v.IsNull() {
			env = append(env, k.AsString()+"="+v.AsString())
		}
	}
	return env
}

// lines reads lines until there are no more.
func lines(r io.Reader, output func(string)) {
	buffer := bufio.NewReader(r)
	for {
		line, err := buffer.ReadString('\n')
		if line != "" {
			output(trimNewline(line))
		}
		if err != nil {
			return
		}
	}
}

func trimNewline(s string) string {
	for len(s) > 0 && (s[len(s)-1] == '\n' || s[len(s)-1] == '\r') {
		s = s[:len(s)-1]
	}
	return s
}

func text(v cty.Value, name string) string {
	if a := v.GetAttr(name); !a.IsNull() {
		return a.AsString()
	}
	return ""
}
