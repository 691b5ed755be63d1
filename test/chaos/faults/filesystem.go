//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/rpc"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A Fault says which operation of a program fails, and how.
type Fault struct {
	Op      string        // "" for any that is counted
	Nth     int           // of these operations, from 1
	Errno   syscall.Errno // 0 for a kill
	Lasting bool          // all later ones fail as well
	After   bool          // the program is killed after the operation, not before
}

// A Count is what happened since a fault was armed.
type Count struct {
	Fired  int
	Where  string // the operation that failed first
	Counts map[string]int
}

// A filesystem passes operations on to a folder, and lets those of one program fail.
type filesystem struct {
	program string // its name, as the kernel has it
	server  *fuse.Server

	mu     sync.Mutex
	armed  bool
	fault  Fault
	seen   int
	fired  int
	where  string // the operation that failed first
	counts map[string]int
}

// mount serves the folder real at the folder at.
func mount(real, at, program string) (*filesystem, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(real, &st); err != nil {
		return nil, err
	}
	f := &filesystem{program: program}
	root := &fs.LoopbackRoot{Path: real, Dev: uint64(st.Dev)}
	root.NewNode = func(r *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder {
		return &entry{LoopbackNode: fs.LoopbackNode{RootData: r}, of: f}
	}
	top := &entry{LoopbackNode: fs.LoopbackNode{RootData: root}, of: f}
	root.RootNode = top
	never := time.Duration(0) // what the folder has is changed beside this file system
	server, err := fs.Mount(at, top, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "faults", Name: "faults"},
		EntryTimeout: &never, AttrTimeout: &never, NegativeTimeout: &never,
	})
	if err != nil {
		return nil, err
	}
	f.server = server
	return f, nil
}

// serve mounts the file system and takes orders on a socket. It is a process of its own: a
// program that serves a file system and starts processes in it waits for itself.
func serve(real, at, program, socket string) error {
	f, err := mount(real, at, program)
	if err != nil {
		return err
	}
	defer f.server.Unmount()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Faults", &Orders{f}); err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	server.ServeConn(conn) // until the other end is gone
	return nil
}

// Orders are the calls that the process of a file system takes.
type Orders struct{ of *filesystem }

// Arm begins to count, and lets the fault happen when its turn comes.
func (o *Orders) Arm(x Fault, _ *struct{}) error {
	f := o.of
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.fault, f.seen, f.fired, f.where, f.counts = true, x, 0, 0, "", map[string]int{}
	return nil
}

// Disarm ends that, and returns the count.
func (o *Orders) Disarm(_ struct{}, c *Count) error {
	f := o.of
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	*c = Count{f.fired, f.where, maps.Clone(f.counts)}
	return nil
}

func nothing() {}

// at is called for each operation. The result is an error in place of the operation, and
// what is done after it.
func (f *filesystem) at(ctx context.Context, op, path string) (syscall.Errno, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return 0, nothing
	}
	caller, ok := fuse.FromContext(ctx)
	if !ok {
		return 0, nothing
	}
	// The name, not the executable: reading that waits for an exec, which waits for a flush.
	if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", caller.Pid)); strings.TrimSpace(string(name)) != f.program {
		return 0, nothing
	}
	f.counts[op]++
	x := f.fault
	if x.Nth == 0 || x.Op != "" && x.Op != op {
		return 0, nothing
	}
	f.seen++
	if f.seen != x.Nth && (!x.Lasting || f.seen < x.Nth) {
		return 0, nothing
	}
	if f.fired++; f.fired == 1 {
		f.where = op + " " + path
	}
	switch {
	case x.Errno != 0:
		return x.Errno, nothing
	case x.After:
		return 0, func() { _ = syscall.Kill(int(caller.Pid), syscall.SIGKILL) }
	}
	_ = syscall.Kill(int(caller.Pid), syscall.SIGKILL)
	return syscall.EIO, nothing
}

// An entry is a file or a folder.
type entry struct {
	fs.LoopbackNode
	of *filesystem
}

func (e *entry) path(name string) string {
	p := e.Path(e.Root())
	if name == "" {
		return p
	}
	return p + "/" + name
}

func (e *entry) at(ctx context.Context, op, name string) (syscall.Errno, func()) {
	return e.of.at(ctx, op, e.path(name))
}

// opened is a file with the faults of its operations. Nothing is kept by the kernel, so
// that each read and write is seen.
func (e *entry) opened(h fs.FileHandle, flags uint32) (fs.FileHandle, uint32) {
	return &handle{h, e}, flags&^fuse.FOPEN_PASSTHROUGH | fuse.FOPEN_DIRECT_IO
}

func (e *entry) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	errno, after := e.at(ctx, "open", "")
	if errno != 0 {
		return nil, 0, errno
	}
	defer after()
	h, out, errno := e.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	h, out = e.opened(h, out)
	return h, out, 0
}

func (e *entry) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	errno, after := e.at(ctx, "create", name)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	defer after()
	inode, h, result, errno := e.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	h, result = inode.Operations().(*entry).opened(h, result)
	return inode, h, result, 0
}

func (e *entry) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	errno, after := e.at(ctx, "mkdir", name)
	if errno != 0 {
		return nil, errno
	}
	defer after()
	return e.LoopbackNode.Mkdir(ctx, name, mode, out)
}

func (e *entry) Rmdir(ctx context.Context, name string) syscall.Errno {
	errno, after := e.at(ctx, "rmdir", name)
	if errno != 0 {
		return errno
	}
	defer after()
	return e.LoopbackNode.Rmdir(ctx, name)
}

func (e *entry) Unlink(ctx context.Context, name string) syscall.Errno {
	errno, after := e.at(ctx, "unlink", name)
	if errno != 0 {
		return errno
	}
	defer after()
	return e.LoopbackNode.Unlink(ctx, name)
}

func (e *entry) Rename(ctx context.Context, name string, parent fs.InodeEmbedder, next string, flags uint32) syscall.Errno {
	errno, after := e.at(ctx, "rename", next)
	if errno != 0 {
		return errno
	}
	defer after()
	return e.LoopbackNode.Rename(ctx, name, parent, next, flags)
}

func (e *entry) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	errno, after := e.at(ctx, "link", name)
	if errno != 0 {
		return nil, errno
	}
	defer after()
	return e.LoopbackNode.Link(ctx, target, name, out)
}

func (e *entry) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	errno, after := e.at(ctx, "symlink", name)
	if errno != 0 {
		return nil, errno
	}
	defer after()
	return e.LoopbackNode.Symlink(ctx, target, name, out)
}

// bare is the handle that the loopback knows.
func bare(h fs.FileHandle) fs.FileHandle {
	if h, ok := h.(*handle); ok {
		return h.FileHandle
	}
	return h
}

func (e *entry) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	errno, after := e.at(ctx, "setattr", "")
	if errno != 0 {
		return errno
	}
	defer after()
	return e.LoopbackNode.Setattr(ctx, bare(h), in, out)
}

func (e *entry) Getattr(ctx context.Context, h fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return e.LoopbackNode.Getattr(ctx, bare(h), out)
}

func (e *entry) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	errno, after := e.at(ctx, "opendir", "")
	if errno != 0 {
		return nil, 0, errno
	}
	defer after()
	return e.LoopbackNode.OpendirHandle(ctx, flags)
}

// A handle is an open file.
type handle struct {
	fs.FileHandle
	of *entry
}

func (h *handle) Read(ctx context.Context, to []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	errno, after := h.of.at(ctx, "read", "")
	if errno != 0 {
		return nil, errno
	}
	defer after()
	return h.FileHandle.(fs.FileReader).Read(ctx, to, off)
}

func (h *handle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	errno, after := h.of.at(ctx, "write", "")
	if errno != 0 {
		return 0, errno
	}
	defer after()
	return h.FileHandle.(fs.FileWriter).Write(ctx, data, off)
}

func (h *handle) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	errno, after := h.of.at(ctx, "fsync", "")
	if errno != 0 {
		return errno
	}
	defer after()
	return h.FileHandle.(fs.FileFsyncer).Fsync(ctx, flags)
}

func (h *handle) Flush(ctx context.Context) syscall.Errno {
	errno, after := h.of.at(ctx, "close", "")
	if errno != 0 {
		return errno
	}
	defer after()
	return h.FileHandle.(fs.FileFlusher).Flush(ctx)
}

func (h *handle) Setlk(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	errno, after := h.of.at(ctx, "lock", "")
	if errno != 0 {
		return errno
	}
	defer after()
	return h.FileHandle.(fs.FileSetlker).Setlk(ctx, owner, lk, flags)
}

func (h *handle) Release(ctx context.Context) syscall.Errno {
	return h.FileHandle.(fs.FileReleaser).Release(ctx)
}

func (h *handle) Getattr(ctx context.Context, out *fuse.AttrOut) syscall.Errno {
	return h.FileHandle.(fs.FileGetattrer).Getattr(ctx, out)
}
