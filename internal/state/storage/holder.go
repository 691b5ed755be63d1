package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"weir.dev/weir/internal/core/lazyregexp"
)

// A process is who holds a lock, distinguished from any other process that there was or
// will be. All but one machine has only the text.
type process struct {
	pid   int
	start uint64 // in the machine's own count
	boot  string // of the machine: another one after each start
	space string // in which pid and start have their meaning: containers have their own
}

// String is the form in LockInfo.Info, which servers and other programs carry through. It is
// for people as well.
func (p process) String() string {
	return fmt.Sprintf("process %d, start %d, boot %s, space %s", p.pid, p.start, p.boot, p.space)
}

var processText = lazyregexp.New(`^process (\d+), start (\d+), boot ([0-9a-f-]+), space ([0-9a-z:\[\]]+)$`)

func parseProcess(text string) (p process, ok bool) {
	m := processText.Get().FindStringSubmatch(text)
	if m == nil {
		return p, false
	}
	p.boot, p.space = m[3], m[4]
	var err, errStart error
	p.pid, err = strconv.Atoi(m[1])
	p.start, errStart = strconv.ParseUint(m[2], 10, 64)
	return p, err == nil && errStart == nil
}

// Processes reports who holds locks on this machine.
type Processes interface {
	// This is the Info for locks that this process takes: by it others on the same machine
	// find out that the holder has ended. It is empty where that 't be known.
	This() string
	// Gone reports whether the process with that Info has ended for certain. Of
	// those of other machines nothing can be said.
	Gone(info string) bool
	// Exclude waits until no other process of the machine is between Exclude and the
	// call of the returned function, for the same name.
	Exclude(ctx context.Context, name string) (end func(), err error)
}

// System is the processes of this machine as it knows them.
var System Processes = system{}

type system struct{}

func (system) This() string { return ThisProcess() }

func (system) Gone(info string) bool { return LockInfo{Info: info}.Gone() }

func (system) Exclude(ctx context.Context, name string) (func(), error) {
	return exclude(ctx, filepath.Join(os.TempDir(), "weir-"+name+".lock"))
}

// ThisProcess is System.This.
func ThisProcess() string {
	p, ok := self()
	if !ok {
		return ""
	}
	return p.String()
}

// self is this process.
func self() (process, bool) { return lookUp(os.Getpid()) }

// Gone reports whether the holder of a lock has ended for certain: it was a
// process of this very machine since it was started, and there is no such
// process any more. Of others nothing can be said.
func (i LockInfo) Gone() bool {
	p, ok := parseProcess(i.Info)
	if !ok {
		return false
	}
	this, ok := self()
	if !ok || this.boot != p.boot || this.space != p.space {
		return false
	}
	return ended(p)
}
