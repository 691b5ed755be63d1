package plugin

import (
	"bufio"
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

	"google.golang.org/grpc"

	"weir.dev/weir/internal/provider/plugin/handshake"
	"weir.dev/weir/internal/provider/plugin/pluginlog"
	"weir.dev/weir/internal/provider/providerproxy"
	"weir.dev/weir/internal/sys/proc"
)

// A process is one plugin process.
type process struct {
	command  Command
	env      []string
	identity *handshake.Identity // nil without TLS
	sockets  string              // directory for the plugin's sockets
	log      *pluginlog.Relay    // nil for none
	cmd      *exec.Cmd
	stdout   io.ReadCloser
	stderr   io.ReadCloser
	stdin    io.Closer           // of a guard, which takes its end for the end of this process
	said     pluginlog.LastWords // to the standard error
	told     pluginlog.LastWords // as the standard error, over the connection
	exited   chan struct{}       // closed when the process has ended
	drained  chan struct{}       // closed when all that it printed was read, and it has ended
	status   string              // how it ended, set before exited is closed

	// unheard: nobody waited for an answer that the guard is to keep.
	unheard atomic.Bool
}

// newProcess makes a process with what it needs to be a plugin.
func newProcess(command Command) (*process, error) {
	env := command.Env
	if env == nil {
		env = os.Environ()
	}
	p := &process{command: command, env: slices.Clip(env), exited: make(chan struct{}), drained: make(chan struct{})}
	if command.Log != nil {
		p.log = pluginlog.NewRelay(command.Log, command.LogLevel)
	}
	var err error
	if command.Guard == nil && p.lookup("TF_DISABLE_PLUGIN_TLS") == "" {
		if p.identity, err = handshake.NewIdentity(); err != nil {
			return nil, err
		}
	}
	p.sockets, err = os.MkdirTemp(socketDir(), "plugin-dir")
	return p, err
}

// socketDir is where sockets may be made: their names have to fit in about a
// hundred bytes, which a deep temporary directory would use up.
func socketDir() string {
	if dir := os.TempDir(); len(dir) > 50 && filepath.Separator == '/' {
		return "/tmp"
	}
	return ""
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

// prepare makes the command and its pipes.
func (p *process) prepare() (err error) {
	p.cmd = &exec.Cmd{
		Path: p.command.Path,
		Dir:  p.command.Dir,
		Args: []string{p.command.Path},
		Env:  slices.Concat(p.env, p.logEnv(), handshake.Env(p.sockets, p.identity)),
	}
	if g := p.command.Guard; g != nil {
		p.cmd.Path = g.Program
		p.cmd.Args = []string{g.Program, providerproxy.Command, g.Hold + strconv.FormatInt(guards.Add(1), 10), p.command.Path}
		if p.stdin, err = p.cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return err
	}
	p.stderr, err = p.cmd.StderrPipe()
	return err
}

// guards counts those that this process has started.
var guards atomic.Int64

// start starts the process and waits until it says where it serves.
func (p *process) start(ctx context.Context) (handshake.Served, error) {
	if err := ctx.Err(); err != nil {
		return handshake.Served{}, err
	}
	if err := p.prepare(); err != nil {
		return handshake.Served{}, err
	}
	onDeath := syscall.SIGKILL
	if p.command.Guard != nil {
		onDeath = 0 // it ends by itself, when everything is answered
	}
	if err := proc.Start(p.cmd, onDeath); err != nil {
		return handshake.Served{}, err
	}
	p.log.Say(pluginlog.Debug, "provider", "plugin started", "path", p.command.Path, "pid", strconv.Itoa(p.cmd.Process.Pid))
	go p.watch()
	return p.handshake(ctx, p.read())
}

// read reads all that the process prints. The result gets its first line, or as much of it
// as a line of a plugin may have; less when its output ended.
func (p *process) read() <-chan string {
	first := make(chan string, 1)
	var both sync.WaitGroup
	both.Go(func() {
		const longest = 16 << 10
		r := bufio.NewReaderSize(p.stdout, longest)
		line, err := r.ReadSlice('\n')
		first <- string(line)
		for err == nil || errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.Discard(longest)
		}
	})
	both.Go(func() {
		said := io.Writer(&p.said)
		if p.log != nil {
			said = io.MultiWriter(&p.said, p.log.Records("provider."+p.name()))
		}
		_, _ = io.Copy(said, p.stderr)
	})
	go func() {
		both.Wait()
		<-p.exited
		p.log.Say(pluginlog.Debug, "provider", "plugin process ended", "path", p.command.Path, "status", p.status)
		p.stdout.Close()
		p.stderr.Close()
		if p.stdin != nil {
			p.stdin.Close()
		}
		close(p.drained)
	}()
	return first
}

// handshake waits for the line that says where the process serves.
func (p *process) handshake(ctx context.Context, first <-chan string) (handshake.Served, error) {
	patience := time.NewTimer(cmp.Or(p.command.patience, startPatience))
	defer patience.Stop()
	select {
	case <-ctx.Done():
		return handshake.Served{}, ctx.Err()
	case <-patience.C:
		return handshake.Served{}, errors.New("it didn't say in time where it serves")
	case line := <-first:
		served, err := handshake.Parse(line)
		if errors.Is(err, handshake.ErrLine) {
			err = errors.New(p.diagnose(line))
		}
		if err != nil {
			return served, p.explain(err)
		}
		return served, nil
	}
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

// kill ends the process and what it started in its group.
func (p *process) kill() {
	if p.ended() {
		select {
		case <-p.drained: // the number may be another process's by now
			return
		default: // somebody in the group lives
		}
	}
	proc.Kill(p.cmd.Process)
}

// stop asks the plugin to end, and kills it when it doesn't. A guard that still has
// to hear something ends by itself after that, and the plugin with it.
func (p *process) stop(conn *grpc.ClientConn) error {
	if p.unheard.Load() {
		defer conn.Close()
		return p.stdin.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if !p.ended() {
		_ = handshake.Shutdown(ctx, conn) // it may end before it answers
	}
	err := conn.Close()
	select {
	case <-p.drained:
	case <-ctx.Done():
		// Or something that it started holds its output open.
		err = p.abandon()
	}
	os.RemoveAll(p.sockets)
	return err
}

// abandon kills the process, if it was started, and removes what it leaves.
func (p *process) abandon() error {
	defer os.RemoveAll(p.sockets)
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	p.kill()
	select {
	case <-p.drained:
		return nil
	case <-time.After(closeGrace):
		return fmt.Errorf("%s doesn't end", p.name())
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
	return &crash{how: p.status, trace: p.said.Trace(), tail: cmp.Or(p.said.Tail(), p.told.Tail())}
}

// explain adds what the plugin said when it crashed.
func (p *process) explain(err error) error {
	if text := p.said.Trace(); text != "" {
		return fmt.Errorf("%w\n\n%s", err, text)
	}
	return err
}

// diagnose says why the first line isn't that of a plugin.
func (p *process) diagnose(line string) string {
	did := "It printed nothing"
	if line = strings.TrimSpace(line); line != "" {
		did = "It wrote something else than where it serves, " + strconv.Quote(strings.ToValidUTF8(line[:min(len(line), maxQuoted)], "\uFFFD"))
	}
	// Its output has ended without one, and so it does in a moment.
	select {
	case <-p.exited:
		did = "It ended with " + p.end().short() + " before it said where it serves"
		if line != "" {
			did += ", and wrote " + strconv.Quote(strings.ToValidUTF8(line[:min(len(line), maxQuoted)], "\uFFFD"))
		}
	case <-time.After(500 * time.Millisecond):
	}
	return did + ": is it a provider for " + runtime.GOOS + "_" + runtime.GOARCH + "?"
}

// maxQuoted is how much of what isn't understood is shown, in bytes.
const maxQuoted = 200

func (p *process) name() string { return filepath.Base(p.command.Path) }
