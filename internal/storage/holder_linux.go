package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
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

// exclude waits until no other process is between exclude and the call of the
// returned function, for the same path.
func exclude(path string) (end func(), err error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
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

func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	there, errThere := os.Stat(path)
	return err == nil && errThere == nil && os.SameFile(opened, there)
}
