package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// A process is one plugin process, in a process group of its own: an
// interrupt at the terminal reaches the engine alone, which decides what the
// plugins are told.
type process struct {
	command Command
	env     []string
	cmd     *exec.Cmd
	stdout  io.ReadCloser
	stderr  io.ReadCloser
	crash   crashText
	exited  chan struct{}
	sockets string // directory for the plugin's sockets

	mu      sync.Mutex
	started bool
	killed  bool
}

func newProcess(command Command) *process {
	env := command.Env
	if env == nil {
		env = os.Environ()
	}
	p := &process{command: command, env: slices.Clip(env), exited: make(chan struct{})}
	return p
}

// lookup reads the environment that the plugin will have.
func (p *process) lookup(name string) string {
	for _, entry := range slices.Backward(p.env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// logSwitches are what the SDKs of plugins look at. Their default is to log
// every step to the standard error, which costs more than the call itself.
var logSwitches = []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER"}

func (p *process) logEnv() []string {
	if p.command.Log != nil || p.lookup("TF_LOG") != "" || p.lookup("TF_LOG_PROVIDER") != "" {
		return nil
	}
	var off []string
	for _, name := range logSwitches {
		if p.lookup(name) == "" {
			off = append(off, name+"=OFF")
		}
	}
	return off
}

// run makes the process for go-plugin, which passes its own variables in the
// environment of spec.
func (p *process) run(_ hclog.Logger, spec *exec.Cmd, sockets string) (runner.Runner, error) {
	p.sockets = sockets
	p.cmd = &exec.Cmd{
		Path:        p.command.Path,
		Args:        []string{p.command.Path},
		Env:         slices.Concat(p.env, p.logEnv(), spec.Env),
		SysProcAttr: ownGroup(),
	}
	var err error
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	p.stderr, err = p.cmd.StderrPipe()
	return p, err
}

// spawn runs a function on a thread that lives as long as this process: the
// kernel kills a plugin when the thread that started it ends.
var spawn = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("the start was cancelled")
	}
	done := make(chan error, 1)
	spawn() <- func() { done <- p.cmd.Start() }
	err := <-done
	p.started = err == nil
	return err
}

func (p *process) Wait(context.Context) error {
	defer close(p.exited)
	return p.cmd.Wait()
}

func (p *process) Kill(context.Context) error {
	p.kill()
	return nil
}

// kill ends the process and what it started in its group; before the start it
// prevents it.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	select {
	case <-p.exited: // the number may be another process's by now
		return
	default:
	}
	if p.started {
		killGroup(p.cmd.Process)
	}
}

// stop asks the plugin to end, and kills it when it doesn't.
func (p *process) stop(gp *goplugin.Client) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		gp.Kill()
		if p.sockets != "" {
			os.RemoveAll(p.sockets)
		}
	}()
	select {
	case <-done:
		return nil
	case <-time.After(closeGrace + time.Second):
	}
	// A child of the plugin may hold its standard error open.
	p.kill()
	select {
	case <-done:
		return nil
	case <-time.After(closeGrace):
		return fmt.Errorf("%s doesn't end", p.Name())
	}
}

// ended reports whether the process is known to have ended. It may be nil.
func (p *process) ended() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// explain adds what the plugin said when it crashed.
func (p *process) explain(err error) error {
	if text := p.crashed(); text != "" {
		return fmt.Errorf("%w\n\n%s", err, text)
	}
	return err
}

// crashed waits shortly for the end of the process and returns its stack
// trace, if it wrote one.
func (p *process) crashed() string {
	if p == nil {
		return ""
	}
	select {
	case <-p.exited:
	case <-time.After(500 * time.Millisecond):
	}
	return p.crash.String()
}

func (p *process) Diagnose(context.Context) string {
	info, err := os.Stat(p.command.Path)
	switch {
	case err != nil:
		return err.Error()
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return "The file isn't executable."
	}
	return "It ended, or wrote something else, before it said where it serves: is it a provider for " +
		runtime.GOOS + "_" + runtime.GOARCH + "?"
}

func (p *process) Stdout() io.ReadCloser { return p.stdout }
func (p *process) Stderr() io.ReadCloser { return p.stderr }
func (p *process) Name() string          { return filepath.Base(p.command.Path) }

func (p *process) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// crashText keeps what follows the line with which a Go program reports its
// crash, up to a limit.
type crashText struct {
	mu   sync.Mutex
	line bytes.Buffer
	text bytes.Buffer
}

const maxCrashText = 16 << 10

func (c *crashText) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text.Len() > 0 {
		if room := maxCrashText - c.text.Len(); room > 0 {
			c.text.Write(b[:min(room, len(b))])
		}
		return len(b), nil
	}
	if bytes.Equal(b, []byte{'\n'}) {
		c.line.Reset()
		return len(b), nil
	}
	if c.line.Len() < 64 {
		c.line.Write(b)
		if line := c.line.Bytes(); bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
			c.text.Write(line)
		}
	}
	return len(b), nil
}

func (c *crashText) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(c.text.String())
}
