//go:build linux || darwin

package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A bench is a server in this process with what a client needs. The directory and the
// environment of the process are those of the test before and after.
type bench struct {
	t       *testing.T
	address string
	server  *Server
	stop    chan struct{}
	ended   chan error
	out     *os.File
	signals chan os.Signal
}

// newBench serves with do.
func newBench(t *testing.T, do func(Job) (int, bool)) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir") // names of sockets have to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	environ := os.Environ()
	os.Unsetenv("TF_CLI_CONFIG_FILE") // a client does by itself what reads a file such as /dev/null
	t.Cleanup(func() {
		os.Clearenv()
		for _, pair := range environ {
			name, value, _ := strings.Cut(pair, "=")
			os.Setenv(name, value)
		}
		os.RemoveAll(dir)
	})
	b := &bench{t: t, address: filepath.Join(dir, "own", "s"), stop: make(chan struct{}), ended: make(chan error, 1), signals: make(chan os.Signal, 8)}
	b.server = &Server{Environ: os.Environ(), Build: os.Args[0], Now: time.Now, Idle: time.Hour, Do: do, Kept: func() []string { return []string{"/somewhere"} }}
	b.serve()
	b.out, err = os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) serve() {
	serving := make(chan struct{})
	go func() { b.ended <- b.server.Serve(b.address, b.stop, func() { close(serving) }) }()
	select {
	case <-serving:
	case err := <-b.ended:
		b.t.Fatal(err)
	}
}

// client is one that is served, with a further variable.
func (b *bench) client(in *os.File, more ...string) Client {
	return Client{
		Args: []string{"weir", "plan"}, Environ: append(append(os.Environ(), Variable+"="+b.address), more...), In: in, Out: b.out, Err: b.out, Getwd: os.Getwd, Build: os.Args[0],
		Terminal: func(*os.File) bool { return true },
		Secret:   func(*os.File) (string, error) { return "hidden", nil },
		Signals:  func() (<-chan os.Signal, func()) { return b.signals, func() {} },
	}
}

// TestServed: a command has its streams, directory, environment and exit code.
func TestServed(t *testing.T) {
	b := newBench(t, func(j Job) (int, bool) {
		here, _ := os.Getwd()
		fmt.Fprintln(j.Out, j.Args, os.Getenv("OWN"), here == j.Dir, j.Typed.Terminal)
		line := make([]byte, 3)
		_, err := io.ReadFull(j.Typed, line)
		hidden, _ := j.Typed.Secret()
		_, end := j.Typed.Read(line[:1])
		fmt.Fprintln(j.Err, string(line), err, hidden, end)
		return 7, false
	})
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(typed, "yes")
	typed.Close()
	code, done := Ask(b.client(in, "OWN=value"))
	if text, _ := os.ReadFile(b.out.Name()); code != 7 || !done || string(text) != "[weir plan] value true true\nyes <nil> hidden EOF\n" {
		t.Errorf("%d, %v: %s", code, done, text)
	}
	info, err := os.Stat(b.address)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s, err := Tell(b.address, "status", os.Args[0])
	if err != nil || s.Served != 1 || s.Busy || !s.Same || len(s.Kept) != 1 || s.Pid != os.Getpid() {
		t.Errorf("%+v, %v", s, err)
	}
	close(b.stop)
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	if _, err := Tell(b.address, "status", os.Args[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, done := Ask(b.client(nil)); done {
		t.Error("done without a daemon")
	}
}

// TestStandardInput: a command reads its own standard input also by a name that only its
// configuration has, and the daemon's is as before afterwards.
func TestStandardInput(t *testing.T) {
	b := newBench(t, func(j Job) (int, bool) {
		text, err := os.ReadFile("/dev/stdin")
		fmt.Fprintln(j.Out, string(text), err)
		return 0, false
	})
	before, err := os.Stat("/dev/stdin")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"size = 3", "size = 4"} {
		in, typed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(typed, text)
		typed.Close()
		if code, done := Ask(b.client(in)); code != 0 || !done {
			t.Errorf("%d, %v", code, done)
		}
		in.Close()
	}
	if text, _ := os.ReadFile(b.out.Name()); string(text) != "size = 3 <nil>\nsize = 4 <nil>\n" {
		t.Errorf("read %s", text)
	}
	close(b.stop)
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	if after, err := os.Stat("/dev/stdin"); err != nil || !os.SameFile(before, after) {
		t.Errorf("its own isn't back: %v", err)
	}
}

// TestCold: what a daemon can't stand in for is done by its own process.
func TestCold(t *testing.T) {
	b := newBench(t, func(Job) (int, bool) { return 0, false })
	defer close(b.stop)
	other := filepath.Join(t.TempDir(), "weir")
	if err := os.WriteFile(other, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	link, pipe := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "pipe")
	if err := errors.Join(os.Symlink("/dev/stdin", link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Client){
		"apply":                     func(c *Client) { c.Args[1] = "apply" },
		"no command":                func(c *Client) { c.Args = c.Args[:1] },
		"off":                       func(c *Client) { c.Environ = append(c.Environ, Variable+"=off") },
		"proxy":                     func(c *Client) { c.Environ = append(c.Environ, "https_proxy=http://other") },
		"limit":                     func(c *Client) { c.Environ = append(c.Environ, "WEIR_MAX_TIME=1s") },
		"telemetry":                 func(c *Client) { c.Environ = append(c.Environ, "OTEL_EXPORTER_OTLP_ENDPOINT=http://other") },
		"log":                       func(c *Client) { c.Environ = append(c.Environ, "TF_LOG=trace") },
		"no socket":                 func(c *Client) { c.Environ = append(c.Environ, Variable+"="+b.address+"x") },
		"not a socket":              func(c *Client) { c.Environ = append(c.Environ, Variable+"="+other) },
		"stdin":                     func(c *Client) { c.Args = append(c.Args, "-var-file=/dev/stdin") },
		"descriptor":                func(c *Client) { c.Args = append(c.Args, "-var-file", "/dev/fd/63") },
		"terminal":                  func(c *Client) { c.Args = append(c.Args, "-var-file=/dev/tty") },
		"itself":                    func(c *Client) { c.Args = append(c.Args, "-var=x=/proc/self/fd/0") },
		"link to stdin":             func(c *Client) { c.Args = append(c.Args, "-var-file="+link) },
		"link below -chdir":         func(c *Client) { c.Args = []string{"weir", "-chdir=" + filepath.Dir(link), "plan", "-var-file=link"} },
		"link by TF_CLI_ARGS":       func(c *Client) { c.Environ = append(c.Environ, "TF_CLI_ARGS=-var-file="+link) },
		"pipe":                      func(c *Client) { c.Args = append(c.Args, "-var-file="+pipe) },
		"stdin by TF_CLI_ARGS_plan": func(c *Client) { c.Environ = append(c.Environ, "TF_CLI_ARGS_plan=-var-file=/dev/stdin") },
		"stdin by a variable":       func(c *Client) { c.Environ = append(c.Environ, "TF_VAR_path=/dev/stdin") },
		"somewhere odd":             func(c *Client) { c.Environ = append(c.Environ, Variable+"=maybe") },
	} {
		c := b.client(nil)
		change(&c)
		if _, done := Ask(c); done {
			t.Errorf("%s: done by the daemon", name)
		}
	}
	if got := differs([]string{"SSL_CERT_FILE=x"}, nil); got != "SSL_CERT_FILE" { // the server trusts others
		t.Errorf("differs in %s", got)
	}
	if got := differs([]string{"A=1", "TZ=x"}, []string{"B=2", "TZ=x"}); got != "" {
		t.Errorf("differs in %s", got)
	}
}

// TestBuild: another build isn't served, and is notified.
func TestBuild(t *testing.T) {
	b := newBench(t, func(Job) (int, bool) { return 0, false })
	defer close(b.stop)
	w, err := dial(b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	here, _ := os.Getwd()
	if err := w.send(begin, encode(request{Want: "run", Build: "another", Args: []string{"weir", "plan"}, Environ: os.Environ(), Dir: here}), dir); err != nil {
		t.Fatal(err)
	}
	if kind, text, err := w.next(); kind != refused || string(text) != "it is another build" || err != nil {
		t.Errorf("%c %s %v", kind, text, err)
	}
}

// TestBusy: while a command is under way another one is done by itself, and interrupts
// reach the first, as does the end of its process.
func TestBusy(t *testing.T) {
	working := make(chan Job)
	b := newBench(t, func(j Job) (int, bool) {
		working <- j
		if s := <-j.Signals; s != os.Interrupt {
			return 2, false
		}
		if s := <-j.Signals; s != syscall.SIGTERM {
			return 3, false
		}
		return 9, false
	})
	defer close(b.stop)
	codes := make(chan int)
	go func() {
		code, _ := Ask(b.client(nil))
		codes <- code
	}()
	<-working
	if _, done := Ask(b.client(nil)); done {
		t.Error("two at once")
	}
	if s, err := Tell(b.address, "status", os.Args[0]); err != nil || !s.Busy {
		t.Errorf("%+v, %v", s, err)
	}
	b.signals <- os.Interrupt
	b.signals <- syscall.SIGTERM
	if code := <-codes; code != 9 {
		t.Errorf("exit %d", code)
	}
	if err := (&Server{Environ: nil, Now: time.Now}).Serve(b.address, nil, nil); !errors.Is(err, ErrRunning) {
		t.Errorf("a second daemon: %v", err)
	}
}

// TestGone: a client that is killed counts as an interrupt.
func TestGone(t *testing.T) {
	heard := make(chan os.Signal, 1)
	began := make(chan bool)
	b := newBench(t, func(j Job) (int, bool) {
		close(began)
		heard <- <-j.Signals
		return 0, true
	})
	w, err := dial(b.address)
	if err != nil {
		t.Fatal(err)
	}
	if !b.client(nil).offer(w) || w.send(begin, nil, b.out, b.out, b.out) != nil {
		t.Fatal("not taken")
	}
	<-began
	w.Close()
	if s := <-heard; s != syscall.SIGHUP {
		t.Errorf("heard %v", s)
	}
	if err := <-b.ended; err != nil { // broken
		t.Error(err)
	}
}

// TestInterrupted: the third interrupt ends a client whatever its daemon does, also one that
// reads nothing.
func TestInterrupted(t *testing.T) {
	began, over := make(chan bool), make(chan bool)
	b := newBench(t, func(Job) (int, bool) {
		close(began)
		<-over
		return 0, false
	})
	defer close(b.stop)
	defer close(over)
	codes := make(chan int)
	go func() {
		code, _ := Ask(b.client(nil))
		codes <- code
	}()
	<-began
	for range 3 {
		select {
		case code := <-codes:
			t.Fatalf("exit %d before the third interrupt", code)
		case b.signals <- os.Interrupt:
		}
	}
	select {
	case code := <-codes:
		if code == 0 {
			t.Error("exit 0")
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

// TestLimits: a client with other limits isn't served.
func TestLimits(t *testing.T) {
	b := newBench(t, func(Job) (int, bool) { return 0, false })
	defer close(b.stop)
	w, err := dial(b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	other := limits()
	other[0]++
	r := request{Want: "run", Build: build(os.Args[0]), Args: []string{"weir", "plan"}, Environ: b.server.Environ, Limits: other}
	if err := w.send(begin, encode(r), dir); err != nil {
		t.Fatal(err)
	}
	if kind, why, err := w.next(); kind != refused || string(why) != "it has other limits" {
		t.Errorf("%c %s, %v", kind, why, err)
	}
}

// TestStop: who asks for the end gets it, after the command that is under way.
func TestStop(t *testing.T) {
	working, goOn := make(chan bool), make(chan bool)
	b := newBench(t, func(Job) (int, bool) {
		close(working)
		<-goOn
		return 5, false
	})
	codes := make(chan int)
	go func() {
		code, _ := Ask(b.client(nil))
		codes <- code
	}()
	<-working
	w, err := dial(b.address)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.send(begin, encode(request{Want: "stop"})); err != nil {
		t.Fatal(err)
	}
	if kind, _, err := w.next(); kind != answer || err != nil {
		t.Errorf("%c, %v", kind, err)
	}
	select {
	case err := <-b.ended:
		t.Fatalf("it doesn't wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	if code := <-codes; code != 5 {
		t.Errorf("exit %d", code)
	}
	select {
	case err := <-b.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

// TestHangs: a daemon that doesn't answer has the command done by itself, and nothing of its
// streams, so that who reads these isn't kept waiting.
func TestHangs(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := listen(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	b := &bench{t: t, address: filepath.Join(dir, "s"), out: to}
	if _, done := Ask(b.client(nil)); done {
		t.Error("done by nobody")
	}
	to.Close()
	if err := from.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
}

// TestFolder: the folder of the socket is nobody else's.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(filepath.Join(dir, "s")); err == nil || !strings.Contains(err.Error(), "nobody else") {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(file); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); string(text) != "text" {
		t.Errorf("%q is left: %v", text, err)
	}
	for range 2 { // the socket of the first is left behind
		l, err := listen(filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

// TestIdle: without commands a daemon ends.
func TestIdle(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &Server{Now: time.Now, Idle: time.Nanosecond}
	if err := s.Serve(filepath.Join(dir, "s"), nil, func() {}); err != nil {
		t.Error(err)
	}
}

// TestAddress: where the socket is.
func TestAddress(t *testing.T) {
	for _, c := range []struct{ own, runtime, want string }{
		{"", "/run/user/7", "/run/user/7/weir/daemon.sock"},
		{"on", "", filepath.Join(os.TempDir(), "weir-7", "daemon.sock")},
		{"/a/socket", "/run", "/a/socket"},
		{"off", "/run", ""},
		{"0", "", ""},
	} {
		environ := []string{Variable + "=" + c.own, "XDG_RUNTIME_DIR=" + c.runtime}
		if got := Address(getenv(environ), 7); got != c.want {
			t.Errorf("%q, %q: %q", c.own, c.runtime, got)
		}
	}
}
