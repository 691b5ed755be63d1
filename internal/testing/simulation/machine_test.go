package simulation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir.dev/weir/internal/sys/durable"
)

// A machine is a folder that processes run in, one life each, on a host that may have
// several of them.
type machine struct {
	*host
	h    *history
	dir  string
	disk *disk
}

// A host starts and fails with all folders and processes on it.
type host struct {
	name     string
	boot     int
	machines []*machine
	lives    []*life
	skew     time.Duration // of its clock
	asleep   time.Time     // until when it is suspended

	mu       sync.Mutex
	excluded map[string]chan struct{}
}

// A life is a process: one command from its start to its end.
type life struct {
	h       *history
	machine *machine
	number  int
	boot    int
	ended   atomic.Bool // the command has returned, or was killed
	killed  chan struct{}
	cancel  context.CancelFunc

	mu    sync.Mutex
	files []*os.File
}

var errDead = errors.New("this process has ended")

func (l *life) dead() bool {
	select {
	case <-l.killed:
		return true
	default:
		return false
	}
}

// kill ends a process: from now on nothing that it does has an effect, and its files
// are closed, with the locks that they have.
func (l *life) kill() {
	if l.dead() {
		return
	}
	close(l.killed)
	l.ended.Store(true)
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		f.Close()
	}
}

// This implements storage.Processes.
func (l *life) This() string {
	return fmt.Sprintf("%s boot %d process %d", l.machine.name, l.boot, l.number)
}

// Gone implements storage.Processes.
func (l *life) Gone(info string) bool {
	for _, other := range l.machine.lives {
		if other.This() == info {
			return other.boot == l.machine.boot && other.ended.Load()
		}
	}
	return false
}

// Exclude implements storage.Processes.
func (l *life) Exclude(ctx context.Context, name string) (func(), error) {
	m := l.machine.host
	m.mu.Lock()
	turn := m.excluded[name]
	if turn == nil {
		turn = make(chan struct{}, 1)
		m.excluded[name] = turn
	}
	m.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// randomName is a part of names that is another one each time, or in each folder.
var randomName = regexp.MustCompile(`\.\d+\.(new|tmp)$|\d{6,}|-[0-9a-f]{12}`)

// disk is the machine's as the process has it.
func (l *life) disk() *durable.Disk {
	var opening sync.Map // by path, whether it was there
	return &durable.Disk{
		Before: func(c durable.Change) error {
			if l.dead() {
				return errDead
			}
			if c.Kind != durable.Append {
				label := string(c.Kind) + " " + c.Path
				if c.Kind != durable.Turn {
					label = string(c.Kind) + " " + randomName.ReplaceAllString(strings.TrimPrefix(c.Path, l.machine.dir), "N")
				}
				switch l.wait(context.Background(), &pending{life: l, kind: disking, label: label}) {
				case dead:
					return errDead
				case refused:
					return &os.PathError{Op: string(c.Kind), Path: c.Path, Err: syscall.ENOSPC}
				case silent:
					return l.machine.unanswered(c)
				}
			}
			if c.Kind == durable.Open {
				opening.Store(c.Path, exists(c.Path))
			}
			l.machine.disk.change(c)
			return nil
		},
		Opened: func(f *os.File) {
			before, _ := opening.Load(f.Name())
			was, _ := before.(bool)
			l.machine.disk.opened(f, was)
			l.mu.Lock()
			l.files = append(l.files, f)
			l.mu.Unlock()
			if l.dead() {
				f.Close()
			}
		},
	}
}

// unanswered makes a change of names as a file server does whose answer is lost: the client
// asks again, and the second answer is that of a change that is already made.
func (m *machine) unanswered(c durable.Change) error {
	m.disk.change(c)
	switch c.Kind {
	case durable.Move:
		if err := os.Rename(c.Path, c.To); err != nil {
			return err
		}
		return &os.LinkError{Op: "rename", Old: c.Path, New: c.To, Err: syscall.ENOENT}
	case durable.Link:
		if err := os.Link(c.Path, c.To); err != nil {
			return err
		}
		return &os.LinkError{Op: "link", Old: c.Path, New: c.To, Err: syscall.EEXIST}
	default:
		if err := os.Remove(c.Path); err != nil {
			return err
		}
		return &os.PathError{Op: "remove", Path: c.Path, Err: syscall.ENOENT}
	}
}

// now is the time as the host's clock has it.
func (o *host) now() time.Time { return time.Now().Add(o.skew) }

// awake reports whether processes of the host run.
func (o *host) awake() bool { return !time.Now().Before(o.asleep) }

// fail has the host fail: all its processes end, and the disk has what it has.
func (o *host) fail(seed uint64) {
	for _, l := range o.lives {
		l.kill()
	}
	o.boot++
	o.excluded = map[string]chan struct{}{}
	for _, m := range o.machines {
		m.disk.fail(seed)
	}
}

// journals are the files on the machine that a run has left.
func (m *machine) journals() (list []string) {
	_ = filepath.WalkDir(m.dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".journal") {
			list = append(list, path)
		}
		return nil
	})
	slices.Sort(list)
	return list
}

// A moment is what becomes of something that a process waits for.
type moment string

const (
	now      moment = "now"
	dead     moment = "dead"
	refused  moment = "refused" // nothing was done
	silent   moment = "lost"    // done, and the answer is lost
	partly   moment = "partly"  // done, and the answer is an error
	doubled  moment = "doubled" // done twice
	later    moment = "late"    // the connection is lost, and it is done some time
	hanging  moment = "hangs"   // nothing happens any more
	canceled moment = "canceled"
)

// A kind of what processes wait for.
type kind int

const (
	disking kind = iota
	requesting
	asking
	answering
)

// A pending is something that a process is about to do, or waits for.
type pending struct {
	life  *life
	kind  kind
	label string
	stuck bool // it never becomes its turn
	turn  chan moment
	// effect is what is on its way to the cloud, which may arrive although the process
	// is gone; nil for nothing.
	effect func()
	result ctyValue
}

// wait returns when it is its turn.
func (l *life) wait(ctx context.Context, p *pending) moment {
	if l.dead() {
		return dead
	}
	p.turn = make(chan moment, 1)
	l.h.mu.Lock()
	l.h.pending = append(l.h.pending, p)
	l.h.mu.Unlock()
	defer l.h.forget(p)
	select {
	case m := <-p.turn:
		if l.dead() {
			return dead
		}
		return m
	case <-l.killed:
		return dead
	case <-ctx.Done():
		return canceled
	}
}

func (h *history) forget(p *pending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = slices.DeleteFunc(h.pending, func(o *pending) bool { return o == p })
}
