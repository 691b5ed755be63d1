package plugin

import (
	"cmp"
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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"weir.dev/weir/internal/provider/guard"
	"weir.dev/weir/internal/system/child"
)

// A process is one plugin process.
type process struct {
	command Command
	env     []string
	cmd     *exec.Cmd
	stdout  io.ReadCloser
	stderr  io.ReadCloser
	stdin   io.Closer     // of a guard, which takes its end for the end of this process
	said    lastWords     // to the standard error
	told    lastWords     // as the standard error, over the connection
	exited  chan struct{} // closed when the process has ended
	drained chan struct{} // closed when all that it printed was read
	status  string        // how it ended, set before exited is closed
	sockets string        // directory for the plugin's sockets

	// unheard: nobody waited for an answer that the guard is to keep.
	unheard atomic.Bool

	mu      sync.Mutex
	started bool
	killed  bool
}

func newProcess(command Command) *process {
	env := command.Env
	if env == nil {
		env = os.Environ()
	}
	p := &process{command: command, env: slices.Clip(env), exited: make(chan struct{}), drained: make(chan struct{})}
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
		Path: p.command.Path,
		Dir:  p.command.Dir,
		Args: []string{p.command.Path},
		Env:  slices.Concat(p.env, p.logEnv(), spec.Env),
	}
	var err error
	if g := p.command.Guard; g != nil {
		p.cmd.Path = g.Program
		p.cmd.Args = []string{g.Program, guard.Command, g.Hold + strconv.FormatInt(guards.Add(1), 10), p.command.Path}
		if p.stdin, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	p.stderr, err = p.cmd.StderrPipe()
	return p, err
}

// guards counts those that this process has started.
var guards atomic.Int64

func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return errors.New("the start was cancelled")
	}
	onDeath := syscall.SIGKILL
	if p.command.Guard != nil {
		onDeath = 0 // it ends by itself, when everything is answered
	}
	err := child.Start(p.cmd, onDeath)
	p.started = err == nil
	if p.started {
		go p.watch()
	}
	return err
}

// watch waits for the end of the process, which need not be the end of its
// output: what it started may hold that open.
func (p *process) watch() {
	state, err := p.cmd.Process.Wait()
	switch {
	case err != nil:
		p.status = err.Error()
	default:
		p.status = state.String()
	}
	close(p.exited)
}

// Wait is called when all output has been read.
func (p *process) Wait(context.Context) error {
	close(p.drained)
	<-p.exited
	p.stdout.Close()
	p.stderr.Close()
	if p.stdin != nil {
		p.stdin.Close()
	}
	return nil
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
	if p.ended() {
		select {
		case <-p.drained: // the number may be another process's by now
			return
		default: // somebody in the group lives
		}
	}
	if p.started {
		child.Kill(p.cmd.Process)
	}
}

// stop asks the plugin to end, and kills it when it doesn't. A guard that still has
// to hear something ends by itself after that, and the plugin with it.
func (p *process) stop(gp *goplugin.Client) error {
	if p.unheard.Load() {
		return p.stdin.Close()
	}
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

// ended reports whether the process is known to have ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// endPatience is how long a process whose connection broke may take to end.
const endPatience = 2 * time.Second

// endsNow waits for the end of the process, whose connection broke, and brings
// it about where it doesn't come: nobody can call it any more. It is false when
// ctx ends before.
func (p *process) endsNow(ctx context.Context) bool {
	select {
	case <-p.exited:
		return true
	case <-ctx.Done():
		return p.ended()
	case <-time.After(endPatience):
		p.kill()
	}
	select {
	case <-p.exited:
		return true
	case <-ctx.Done():
		return p.ended()
	}
}

// end describes an ended process: how it ended and what it wrote last.
func (p *process) end() *crash {
	select {
	case <-p.drained:
	case <-time.After(500 * time.Millisecond): // a child holds it open
	}
	return &crash{how: p.status, trace: p.said.trace(), tail: cmp.Or(p.said.tail(), p.told.tail())}
}

// explain adds what the plugin said when it crashed.
func (p *process) explain(err error) error {
	if text := p.said.trace(); text != "" {
		return fmt.Errorf("%w\n\n%s", err, text)
	}
	return err
}

func (p *process) Diagnose(context.Context) string {
	info, err := os.Stat(p.command.Path)
	switch {
	case err != nil:
		return err.Error()
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return "The file isn't executable."
	}
	did := "It wrote something else than where it serves"
	select {
	case <-p.exited:
		did = "It ended with " + p.end().short() + " before it said where it serves"
	case <-time.After(500 * time.Millisecond):
	}
	return did + ": is it a provider for " + runtime.GOOS + "_" + runtime.GOARCH + "?"
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
