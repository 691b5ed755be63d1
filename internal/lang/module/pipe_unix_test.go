//go:build unix

package module

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipe: a named pipe among the files of configuration is rejected, where opening it would
// wait for ever.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "x.tf"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := parse(Disk{Root: dir}, "x.tf")
	if len(p.diags) != 1 || !strings.Contains(p.diags[0].Detail, "named pipe") {
		t.Errorf("%v", p.diags)
	}
}

// TestEndless: what has no end is read up to the limit, whatever its name is.
func TestEndless(t *testing.T) {
	text, err := Disk{}.ReadFile("/dev/zero")
	if err == nil || len(text) > 0 || !strings.Contains(err.Error(), "it has more than 256 MiB") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if text, err := (Disk{}).ReadFile("/dev/null"); err != nil || len(text) > 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
