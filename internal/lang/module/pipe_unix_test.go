//go:build unix

package module

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPipe: a named pipe among the files of configuration is refused, where opening it
// would wait for ever.
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
