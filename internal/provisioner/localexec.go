package provisioner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/schema"
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

// Run implements Provisioner.
func (localExec) Run(ctx context.Context, config cty.Value, output func(string)) error {
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
	if v := config.GetAttr("quiet"); v.IsNull() || v.False() {
		output(fmt.Sprintf("Executing: %q", args))
	} else {
		output("Executing: Suppressed by quiet=true")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = text(config, "working_dir")
	cmd.Env = environment(config.GetAttr("environment"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	return runLines(cmd, output)
}

// environment is this process's environment with the given additions.
func environment(add cty.Value) []string {
	env := os.Environ()
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

// runLines runs a command and passes on its output line by line.
func runLines(cmd *exec.Cmd, output func(string)) error {
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				output(trimNewline(line))
			}
			if err != nil {
				return
			}
		}
	}()
	err := cmd.Run()
	w.Close()
	<-done
	if err != nil {
		return fmt.Errorf("running the command failed: %w", err)
	}
	return nil
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
