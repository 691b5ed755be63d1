package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lookUp describes a process that runs. Kernels without these files, and
// processes of others where they are hidden, have no description.
func lookUp(pid int) (p process, ok bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return p, false
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return p, false
	}
	// The start is counted in the reader's own time, where the kernel has such.
	if clock, err := os.Readlink("/proc/self/ns/time"); err == nil {
		space += clock
	}
	p = process{pid: pid, boot: strings.TrimSpace(string(boot)), space: space}
	var running bool
	p.start, running, ok = startOf(pid)
	return p, ok && running
}

// startOf reads when a process was started. It isn't running any more when it
// only waits to be taken notice of.
func startOf(pid int) (start uint64, running, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, false
	}
	// The name in parentheses may have anything in it.
	_, after, found := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") "))
	fields := strings.Fields(string(after))
	const state, started = 0, 19 // counted from behind the name
	if !found || len(fields) <= started {
		return 0, false, false
	}
	start, err = strconv.ParseUint(fields[started], 10, 64)
	return start, fields[state] != "Z" && fields[state] != "X", err == nil
}

// ended reports whether a process of this machine has ended.
func ended(p process) bool {
	if errors.Is(syscall.Kill(p.pid, 0), syscall.ESRCH) {
		return true
	}
	start, running, ok := startOf(p.pid)
	return ok && (!running || start != p.start)
}

// How long exclude waits, and between looks. Anyone who is inside makes three requests; a file
// that is held for longer is held by somebody who means harm or hangs.
const (
	excludeFor  = 10 * time.Second
	excludeLook = 20 * time.Millisecond
)

var errExcluded = errors.New("somebody holds the file for too long")

// exclude waits until no other process is between exclude and the call of the
// returned function, for the same path. Everybody may make files at that path, so
// no link is followed and nobody is waited for without end.
func exclude(ctx context.Context, path string) (end func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, excludeFor, errExcluded)
	defer cancel()
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(ctx, file); err != nil {
			file.Close()
			return nil, err
		}
		if isAt(file, path) {
			return func() {
				os.Remove(path)
				file.Close()
			}, nil
		}
		file.Close() // who had it before has removed it
	}
}

// flock waits for the lock of a file.
func flock(ctx context.Context, file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(excludeLook):
		}
	}
}

func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	there, errThere := os.Stat(path)
	return err == nil && errThere == nil && os.SameFile(opened, there)
}
