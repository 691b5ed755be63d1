//go:build linux || darwin

package daemon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// taken is for how long a daemon may think about taking a request.
const taken = 2 * time.Second

// lastWords is how long a daemon may take to end a command after the third interrupt. The
// command itself takes up to two seconds then.
const lastWords = 3 * time.Second

// lost is the exit code when the daemon is gone in the middle.
const lost = 1

// Ask has the daemon do what a process was started for, where there is one that does. If
// it isn't done, nothing has happened.
func Ask(c Client) (code int, done bool) {
	if !isServed(c.Args, c.Environ) || namesOwn(c.Args, c.Environ) {
		return 0, false
	}
	address := Address(getenv(c.Environ), os.Geteuid())
	if address == "" {
		return 0, false
	}
	if _, err := os.Lstat(address); err != nil {
		return 0, false
	}
	w, err := dial(address)
	if err != nil {
		return 0, false
	}
	defer w.Close()
	if !c.offer(w) {
		return 0, false
	}
	signals, stop := c.Signals()
	defer stop()
	enough := make(chan struct{}) // there were three interrupts
	// Not before it is taken: while a daemon that hangs has them, who reads them waits.
	in := c.In
	if in == nil {
		if in, err = os.Open(os.DevNull); err != nil {
			return 0, false
		}
		defer in.Close()
	}
	if w.send(begin, nil, in, c.Out, c.Err) != nil {
		return 0, false
	}
	go func() {
		count := 0
		for s := range signals {
			if count++; count == 3 {
				time.AfterFunc(lastWords, func() { close(enough) })
			}
			if number, ok := s.(syscall.Signal); ok {
				_ = w.send(signal, []byte(strconv.Itoa(int(number)))) // a daemon that is gone is seen below
			}
		}
	}()
	codes := make(chan int, 1)
	go func() { codes <- c.follow(w) }()
	select {
	case code := <-codes:
		return code, true
	case <-enough:
		// It was stopped, or hangs. Hanging up interrupts it once it continues.
		fmt.Fprintf(c.Err, "\nError: The daemon doesn't answer\n\nThree interrupts received. This command ends without waiting for \"weir daemon\" any longer, which changes nothing but locks. To end the daemon, run \"weir daemon stop\" or kill its process.\n")
		return lost, true
	}
}

// dial connects to a daemon of the same user.
func dial(address string) (*wire, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, err
	}
	w := &wire{UnixConn: conn}
	if _, ok := w.isOurs(); !ok {
		w.Close()
		return nil, errors.New("the socket is somebody else's")
	}
	return w, nil
}

// offer asks the daemon to do it, and reports whether it will.
func (c Client) offer(w *wire) bool {
	dir, err := os.Open(".")
	if err != nil {
		return false
	}
	defer dir.Close()
	path, err := c.Getwd()
	if err != nil {
		return false
	}
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	r := request{Want: "run", Build: build(c.Build), Args: c.Args, Environ: c.Environ, Dir: path, Umask: mask, Limits: limits(), Terminal: c.Terminal(c.In)}
	if r.Build == "" || w.SetDeadline(time.Now().Add(taken)) != nil || w.send(begin, encode(r), dir) != nil {
		return false
	}
	kind, _, err := w.next()
	return err == nil && kind == ready && w.SetDeadline(time.Time{}) == nil
}

// build is the file that this process runs.
func build(file string) string { return program(cmp.Or(running, file)) }

// follow reads for the daemon what it wants to read, until it is done.
func (c Client) follow(w *wire) int {
	for {
		kind, text, err := w.next()
		if err != nil {
			fmt.Fprintf(c.Err, "\nError: The daemon has ended\n\n\"weir daemon\" ended while it ran this command. Only its locks are left, and the next command takes them over: run it again.\n")
			return lost
		}
		switch kind {
		case exit:
			code, err := strconv.Atoi(string(text))
			if err != nil {
				code = lost
			}
			return code
		case want:
			go c.read(w)
		case secret:
			go c.readSecret(w)
		}
	}
}

func (c Client) read(w *wire) {
	text := make([]byte, 4<<10)
	n, err := c.In.Read(text)
	if n > 0 {
		_ = w.send(data, text[:n])
	}
	if n == 0 && err != nil {
		_ = w.send(ended, nil)
	}
}

func (c Client) readSecret(w *wire) {
	text, err := c.Secret(c.In)
	if err != nil {
		_ = w.send(ended, nil)
		return
	}
	_ = w.send(data, []byte(text))
}

// Tell asks the daemon for its status, or to stop. The error is fs.ErrNotExist or
// syscall.ECONNREFUSED without one.
func Tell(address, want, file string) (Status, error) {
	var s Status
	w, err := dial(address)
	if err != nil {
		return s, err
	}
	defer w.Close()
	if err := w.send(begin, encode(request{Want: want, Build: build(file)})); err != nil {
		return s, err
	}
	if err := w.SetDeadline(time.Now().Add(taken)); err != nil {
		return s, err
	}
	kind, text, err := w.next()
	if err != nil || kind != answer {
		return s, errors.Join(err, errors.New("it doesn't answer"))
	}
	err = json.Unmarshal(text, &s)
	if err == nil && want == "stop" { // it is gone when it hangs up
		err = w.SetDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, w)
	}
	return s, err
}
