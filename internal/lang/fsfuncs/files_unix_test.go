//go:build unix

package fsfuncs

import (
	"strings"
	"syscall"
	"testing"
)

// TestDevices: neither a device without an end nor a pipe that nobody writes to
// keeps a run.
func TestDevices(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	for path, want := range map[string]string{"/dev/zero": "more than", "pipe": "a named pipe"} {
		if _, err := (Disk{}).Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := (Disk{}).Sum(path, "length", length); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
