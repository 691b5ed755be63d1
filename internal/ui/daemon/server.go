//go:build linux || darwin

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Serve takes requests at an address until stop is closed, somebody asks for that, or nothing
// was to do for a while. serving is called when it has started.
func (s *Server) Serve(address string, stop <-chan struct{}, serving func()) error {
	l, err := listen(address)
	if err != nil {
		return err
	}
	r := &run{Server: s, build: build(s.Build), since: s.Now(), end: make(chan struct{}), closed: make(chan struct{}), idle: time.NewTimer(s.Idle)}
	inode, _ := os.Lstat(address)
	go r.accept(l)
	serving()
	select {
	case <-stop:
	case <-r.end:
	case <-r.idle.C:
	}
	if now, err := os.Lstat(address); err == nil && os.SameFile(now, inode) {
		_ = os.Remove(address) // another start removes it
	}
	err = l.Close()
	close(r.closed)
	r.working.Lock() // what was started is ended, and nothing else begins
	r.mu.Lock()
	r.silent = true
	r.mu.Unlock()
	r.telling.Wait()
	return err
}

// tells reports whether somebody else may still learn what became of a request, who is waited
// for then.
func (r *run) tells() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.silent {
		r.telling.Add(1)
	}
	return !r.silent
}

// listen makes the socket in a folder of the user's own.
func listen(address string) (*net.UnixListener, error) {
	dir := filepath.Dir(address)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(at.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the folder %s has to be this user's own, and nobody else may have any permission for it", dir)
	}
	if w, err := dial(address); err == nil {
		w.Close()
		return nil, ErrRunning
	}
	switch left, err := os.Lstat(address); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case left.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is something else than a socket", address)
	default: // of a daemon that was killed
		if err := os.Remove(address); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, errors.Join(os.Chmod(address, 0o600))
}

// A run is a server that serves.
type run struct {
	*Server
	build string
	since time.Time
	idle  *time.Timer

	working sync.Mutex // held while something is done: a process has only one directory
	closed  chan struct{}
	telling sync.WaitGroup // who is still to hear what came of it

	mu     sync.Mutex
	served int
	busy   bool
	silent bool // nobody else is reported anything
	over   sync.Once
	end    chan struct{}
}

func (r *run) accept(l *net.UnixListener) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		go r.serve(&wire{UnixConn: conn})
	}
}

// serve answers one client.
func (r *run) serve(w *wire) {
	defer w.Close()
	pid, ours := w.isOurs()
	if !ours || w.SetDeadline(time.Now().Add(taken)) != nil {
		return
	}
	_, text, files, err := w.with()
	defer shut(files)
	var q request
	if err != nil || json.Unmarshal(text, &q) != nil {
		return
	}
	switch q.Want {
	case "run":
		if !r.tells() {
			_ = w.send(refused, []byte("it is ending"))
			return
		}
		defer r.telling.Done()
		switch code, why := r.take(w, q, pid, files); {
		case why != "":
			_ = w.send(refused, []byte(why)) // it does so by itself
		case code >= 0: // the caller that hears that may come again at once
			_ = w.send(exit, []byte(strconv.Itoa(code))) // a client that is gone doesn't need it
		}
	case "status":
		_ = w.send(answer, encode(r.status(q)))
	case "stop":
		_ = w.send(answer, encode(r.status(q)))
		r.over.Do(func() { close(r.end) })
		select {} // the client waits until this process is gone
	}
}

// shut closes files that came from a client.
func shut(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func (r *run) status(q request) Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{Pid: os.Getpid(), Build: r.build, Since: r.since, Served: r.served, Busy: r.busy, Idle: r.Idle.String(), Kept: r.Kept(), Same: q.Build == r.build}
}

// take does what a client wants, or says why not before anything was done. The code is
// negative where the client hasn't waited.
func (r *run) take(w *wire, q request, pid int, files []*os.File) (code int, why string) {
	switch name := differs(r.Environ, q.Environ); {
	case len(files) != 1 || len(q.Args) == 0:
		return 0, "the request lacks something"
	case q.Build == "" || q.Build != r.build:
		return 0, "it is another build"
	case name != "":
		return 0, "it has another " + name
	case !slices.Equal(q.Limits, limits()):
		return 0, "it has other limits"
	case !sees(pid):
		return 0, "it sees other files"
	case !r.working.TryLock():
		return 0, "another command is under way"
	}
	defer r.working.Unlock()
	select {
	case <-r.closed:
		return 0, "it ends"
	default:
	}
	home, err := surround(q, files[0])
	defer func() { _ = os.Chdir("/") }() // what is mounted there may be unmounted again
	if err != nil {
		return 0, err.Error()
	}
	if w.send(ready, nil) != nil {
		return -1, ""
	}
	kind, _, streams, err := w.with()
	defer shut(streams)
	if err != nil || kind != begin || len(streams) != 3 || w.SetDeadline(time.Time{}) != nil {
		return -1, ""
	}
	restore, err := standardInput(streams[0])
	if err != nil {
		return -1, ""
	}
	defer restore()
	return r.work(w, q, home, streams[1], streams[2]), ""
}

// standardInput makes a file the standard input of this process until restore is called:
// configuration may read /dev/stdin, or a link to it.
func standardInput(in *os.File) (restore func(), err error) {
	before, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	// Fd would let the client's reads block this process, so the number is borrowed.
	raw, err := in.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Dup2(int(fd), 0) }); err != nil || failed != nil { // #nosec G115 -- a file's number
		return nil, errors.Join(err, failed)
	}
	return func() {
		_ = unix.Dup2(before, 0)
		_ = unix.Close(before)
	}, nil
}

// work does it.
func (r *run) work(w *wire, q request, home string, out, problems *os.File) int {
	r.idle.Stop()
	r.note(true)
	defer func() {
		r.note(false)
		r.idle.Reset(r.Idle)
	}()
	c := &client{wire: w, signals: make(chan os.Signal, 8), typed: make(chan []byte, 8)}
	go c.listen()
	code, broken := r.Do(Job{
		Args: q.Args, Environ: q.Environ, Dir: q.Dir, Home: home, Out: out, Err: problems, Signals: c.signals,
		Typed: Typed{Reader: c, Terminal: q.Terminal, Secret: c.secret},
		Exit: func(code int) {
			_ = w.send(exit, []byte(strconv.Itoa(code)))
			r.Exit(code)
		},
	})
	if broken {
		r.over.Do(func() { close(r.end) })
	}
	return code
}

func (r *run) note(busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy = busy; busy {
		r.served++
	}
}

// surround makes the directory, environment and mask of new files those of a client. It
// returns the user's home.
func surround(q request, dir *os.File) (home string, err error) {
	if err := syscall.Fchdir(int(dir.Fd())); err != nil {
		return "", err
	}
	there, err := dir.Stat()
	if err != nil {
		return "", err
	}
	if here, err := os.Stat(q.Dir); err != nil || !os.SameFile(there, here) {
		return "", errors.New("it sees other directories")
	}
	syscall.Umask(q.Umask)
	os.Clearenv()
	for _, pair := range q.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if err := os.Setenv(name, value); err != nil {
				return "", err
			}
		}
	}
	home, _ = os.UserHomeDir() // settings may say that there is one elsewhere
	return home, nil
}

// A client is who is served.
type client struct {
	*wire
	signals chan os.Signal
	typed   chan []byte
	left    []byte
}

// listen takes what the client says until it is gone. That counts as an interrupt: the
// terminal may be.
func (c *client) listen() {
	defer close(c.typed)
	for {
		kind, text, err := c.next()
		if err != nil {
			c.interrupt(syscall.SIGHUP)
			return
		}
		switch kind {
		case signal:
			number, _ := strconv.Atoi(string(text))
			c.interrupt(syscall.Signal(number))
		case data, ended:
			if kind == ended {
				text = nil
			}
			select {
			case c.typed <- text:
			default: // nobody has asked for it
			}
		}
	}
}

func (c *client) interrupt(s syscall.Signal) {
	select {
	case c.signals <- s:
	default: // there were enough
	}
}

// Read implements io.Reader by having the client read.
func (c *client) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		text, err := c.ask(want)
		if err != nil {
			return 0, err
		}
		c.left = text
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *client) secret() (string, error) {
	text, err := c.ask(secret)
	return string(text), err
}

// ask has the client read something.
func (c *client) ask(kind byte) ([]byte, error) {
	if err := c.send(kind, nil); err != nil {
		return nil, err
	}
	text := <-c.typed
	if text == nil {
		return nil, io.EOF
	}
	return text, nil
}
