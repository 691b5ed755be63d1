package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestPrintouts: what a command prints is in a file, its errors as well, until the session ends.
func TestPrintouts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := &printouts{}
	file, err := p.Run(t.Context(), t.TempDir(), "why-*.txt", "why") // the program is this test, which has no such flag
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(out), "chdir") {
		t.Errorf("%q, %v", out, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read %v, %v", info, err)
	}
	p.Close()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}
