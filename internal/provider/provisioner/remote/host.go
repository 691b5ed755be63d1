package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// A Host is a machine that one is logged in to.
type Host struct {
	target  *Target
	client  *ssh.Client
	keys    *identities
	opened  []io.Closer
	forward bool
	done    chan struct{}
	once    sync.Once
}

func (h *Host) add(c io.Closer) { h.opened = append(h.opened, c) }

// Close ends the connection, and what continues over it.
func (h *Host) Close() {
	h.once.Do(func() {
		if h.done != nil {
			close(h.done)
		}
		for i := len(h.opened) - 1; i >= 0; i-- {
			h.opened[i].Close()
		}
		if h.keys != nil {
			h.keys.Close()
		}
	})
}

// How often it is asked whether the machine is still there, and how long the answer may
// take.
const (
	askAlive  = 15 * time.Second
	giveAlive = 2 * time.Minute
)

// begin hands the agent on, and ends the connection when the machine is gone.
func (h *Host) begin() {
	if h.keys != nil {
		h.forward = agent.ForwardToAgent(h.client, h.keys.agent) == nil
	}
	h.done = make(chan struct{})
	go func() {
		for {
			select {
			case <-h.done:
				return
			case <-time.After(askAlive):
			}
			answered := make(chan error, 1)
			go func() {
				_, _, err := h.client.SendRequest("keepalive@openssh.com", true, nil)
				answered <- err
			}()
			select {
			case err := <-answered:
				if err == nil {
					continue
				}
			case <-time.After(giveAlive):
			case <-h.done:
				return
			}
			h.client.Close()
			return
		}
	}()
}

// within closes the connection when ctx ends before the work does.
func (h *Host) within(ctx context.Context, work func() error) error {
	stop := context.AfterFunc(ctx, h.Close)
	defer stop()
	err := work()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	return err
}

func (h *Host) session() (*ssh.Session, error) {
	s, err := h.client.NewSession()
	if err != nil {
		return nil, err
	}
	if h.forward {
		_ = agent.RequestAgentForwarding(s) // where it isn't allowed the commands do without
	}
	return s, nil
}

// unguessable is a number that nobody on the other machine can put a file of that name
// there for.
func unguessable() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[:])), 10)
}

// Script runs a script, with a line of output at a time.
func (h *Host) Script(ctx context.Context, script []byte, output func(line string)) error {
	to := strings.ReplaceAll(h.target.script, "%RAND%", unguessable())
	if !h.target.windows && !bytes.HasPrefix(script, []byte("#!")) {
		script = append([]byte("#!/bin/sh\n"), script...)
	}
	return h.within(ctx, func() error {
		if err := h.put(to, script, "0700"); err != nil {
			return fmt.Errorf("Failed to upload script: %w", err)
		}
		err := h.run(to, output)
		remove := "rm -f " + quote(to)
		if h.target.windows {
			remove = "del " + strings.ReplaceAll(to, "/", `\`)
		}
		_ = h.run(remove, func(string) {}) // it may have removed itself
		if err != nil {
			return fmt.Errorf("error executing %q: %w", to, err)
		}
		return nil
	})
}

func (h *Host) run(command string, output func(string)) error {
	s, err := h.session()
	if err != nil {
		return err
	}
	defer s.Close()
	if !h.target.windows { // some sudo want a terminal
		_ = s.RequestPty("xterm", 80, 40, ssh.TerminalModes{ssh.ECHO: 0, ssh.TTY_OP_ISPEED: 14400, ssh.TTY_OP_OSPEED: 14400})
	}
	r, w := io.Pipe()
	s.Stdout, s.Stderr = w, w
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				output(strings.TrimRight(line, "\r\n"))
			}
			if err != nil {
				return
			}
		}
	}()
	err = s.Run(command)
	w.Close()
	<-ended
	return err
}

// quote is a word of a POSIX shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Put makes a file with that content.
func (h *Host) Put(ctx context.Context, to string, content []byte) error {
	return h.within(ctx, func() error { return h.put(to, content, "0644") })
}

func (h *Host) put(to string, content []byte, mode string) error {
	to = filepath.ToSlash(to)
	return h.copy(path.Dir(to), false, func(s *sink) error {
		return s.file(path.Base(to), mode, int64(len(content)), bytes.NewReader(content))
	})
}

// Copy brings a file or a directory of this machine there. Of a directory whose name ends
// with a slash it is what is in it.
func (h *Host) Copy(ctx context.Context, to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return h.within(ctx, func() error {
		to := filepath.ToSlash(to)
		if !info.IsDir() {
			return h.copy(path.Dir(to), false, func(s *sink) error { return s.local(path.Base(to), from) })
		}
		return h.copy(to, true, func(s *sink) error {
			if strings.HasSuffix(filepath.ToSlash(from), "/") {
				return s.entries(from)
			}
			return s.directory(filepath.Base(from), from)
		})
	})
}

// copy has scp there take what send sends: the program that is wherever sshd is.
func (h *Host) copy(into string, deep bool, send func(*sink) error) error {
	s, err := h.session()
	if err != nil {
		return err
	}
	defer s.Close()
	in, err := s.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	s.Stderr = &stderr
	if err := s.Start(h.receiver(into, deep)); err != nil {
		return err
	}
	sink := &sink{w: in, r: bufio.NewReader(out)}
	sent := sink.answer()
	if sent == nil {
		sent = send(sink)
	}
	in.Close()
	err = s.Wait()
	var exit *ssh.ExitError
	if errors.As(err, &exit) && exit.ExitStatus() == 127 {
		return errors.New("there is no scp on the machine, which files are copied with: install OpenSSH's client there")
	}
	if said := strings.TrimSpace(stderr.String()); said != "" && (sent != nil || err != nil) {
		return errors.New(said)
	}
	if sent != nil && !errors.Is(sent, io.EOF) {
		return sent
	}
	return err
}

// receiver is the command that takes files at the other end. PowerShell runs no program whose name
// has quotes.
func (h *Host) receiver(into string, deep bool) string {
	command := "scp -d -t " // into a directory, or not at all
	if deep {
		command = "scp -d -r -t "
	}
	if h.target.windows {
		return command + `"` + strings.ReplaceAll(into, `"`, "") + `"`
	}
	return command + quote(into)
}

// A sink is scp at the other end, which answers everything with a byte.
type sink struct {
	w io.Writer
	r *bufio.Reader
}

func (s *sink) answer() error {
	code, err := s.r.ReadByte()
	if err != nil || code == 0 {
		return err
	}
	message, err := s.r.ReadString('\n')
	if err != nil && message == "" {
		return err
	}
	return errors.New(strings.TrimSpace(message))
}

func (s *sink) say(format string, args ...any) error {
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil {
		return err
	}
	return s.answer()
}

func (s *sink) file(name, mode string, size int64, content io.Reader) error {
	if err := s.say("C%s %d %s\n", mode, size, name); err != nil {
		return err
	}
	if _, err := io.CopyN(s.w, content, size); err != nil {
		return err
	}
	return s.say("\x00")
}

func (s *sink) local(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return s.file(name, "0644", info.Size(), f)
}

func (s *sink) directory(name, from string) error {
	if err := s.say("D0755 0 %s\n", name); err != nil {
		return err
	}
	if err := s.entries(from); err != nil {
		return err
	}
	return s.say("E\n")
}

// entries follows links, as what they lead to is what is meant.
func (s *sink) entries(from string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		at := filepath.Join(from, e.Name())
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = s.directory(e.Name(), at)
		} else {
			err = s.local(e.Name(), at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
