//go:build unix

package readlimit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFile: what isn't a file is rejected before it is opened, where it would make who reads
// it wait for ever, or read for ever.
func TestFile(t *testing.T) {
	for path, want := range map[string]string{pipe(t): "a named pipe", "/dev/zero": "a device"} {
		if _, err := File(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := File(os.DevNull); err != nil || len(data) > 0 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if _, err := File(none); !errors.Is(err, os.ErrNotExist) || err.Error() != "open "+none+": no such file or directory" {
		t.Errorf("%v", err)
	}
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, MaxFile+1); err != nil { // no block of it is on the disk
		t.Skip(err)
	}
	if _, err := File(long); err == nil || !strings.Contains(err.Error(), "more than 4096 MiB") {
		t.Errorf("%v", err)
	}
}

// TestAny: a pipe is read when somebody writes to it, and waited for no longer than
// until the interrupt.
func TestAny(t *testing.T) {
	path := pipe(t)
	go func() {
		_ = os.WriteFile(path, []byte("text"), 0o600)
	}()
	if data, err := Any(path, nil); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	interrupted := make(chan struct{})
	time.AfterFunc(0, func() { close(interrupted) })
	if _, err := Any(pipe(t), interrupted); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	if _, err := Stream(r, "it", interrupted); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v", err)
	}
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	if _, err := Stream(zero, "zeros", nil); err == nil || err.Error() != "read zeros: it has more than 256 MiB" {
		t.Errorf("%v", err)
	}
}

// TestNullAfterInterrupt: the null device has nothing to wait for, so an interrupt that came
// before doesn't matter.
func TestNullAfterInterrupt(t *testing.T) {
	interrupted := make(chan struct{})
	close(interrupted)
	for range 50 {
		if data, err := Any(os.DevNull, interrupted); len(data) > 0 || err != nil {
			t.Fatalf("%q, %v", data, err)
		}
	}
}
