//go:build linux

package storage

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestGone(t *testing.T) {
	self, ok := lookUp(os.Getpid())
	if !ok {
		t.Skip("the kernel doesn't tell")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	other, ok := lookUp(child.Process.Pid)
	if !ok || other.start < self.start || other.pid == self.pid {
		t.Fatalf("%v, and this is %v", other, self)
	}
	change := func(f func(p *process)) string {
		p := self
		f(&p)
		return p.String()
	}
	check := func(name, info string, want bool) {
		t.Helper()
		if got := (LockInfo{Info: info}).Gone(); got != want {
			t.Errorf("%s: %q: %v", name, info, got)
		}
	}
	check("this process", ThisProcess(), false)
	check("a child", other.String(), false)
	check("nothing", "", false)
	check("something else", "process 1", false)
	check("the same number later", change(func(p *process) { p.start-- }), true)
	check("no such process", change(func(p *process) { p.pid = 1 << 30 }), true)
	check("before a restart, or elsewhere", change(func(p *process) { p.pid = 1 << 30; p.boot = "0-0" }), false)
	check("another container", change(func(p *process) { p.pid = 1 << 30; p.space = "pid:[1]" }), false)
	check("another clock", change(func(p *process) { p.start--; p.space = p.space[:strings.Index(p.space, "]")+1] + "time:[1]" }), false)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !(LockInfo{Info: other.String()}).Gone() { // a zombie by now
	}
	_ = child.Wait()
	check("a child that has ended", other.String(), true)
}

func TestStartOfAnyName(t *testing.T) {
	path := t.TempDir() + "/a) b (c"
	if text, err := os.ReadFile("/bin/sleep"); err != nil || os.WriteFile(path, text, 0o700) != nil {
		t.Skip("no program to copy")
	}
	child := exec.Command(path, "60")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if p, ok := lookUp(child.Process.Pid); !ok || p.start == 0 || strings.Contains(p.String(), ")") {
		t.Errorf("%v %v", p, ok)
	}
}

// TestExclude: one at a time, also when the file goes away in between.
func TestExclude(t *testing.T) {
	path := t.TempDir() + "/lock"
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				end, err := exclude(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				runtime.Gosched()
				inside.Add(-1)
				end()
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at the same time", most.Load())
	}
}

// TestExcludeHeld: who holds the file without end, or has put a link in its place,
// gets nobody to wait without end or to touch another file.
func TestExcludeHeld(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(dir + "/held")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := exclude(ctx, dir+"/held"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := os.Symlink(dir+"/victim", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := exclude(t.Context(), dir+"/link"); err == nil {
		t.Error("it followed a link")
	}
	if _, err := os.Stat(dir + "/victim"); err == nil {
		t.Error("it made the file behind the link")
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := exclude(t.Context(), dir+"/fifo")
	if err == nil {
		end()
	}
}
