package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: the page says what the binary accepts. "make parity" writes it again.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary and starts it several hundred times")
	}
	bin := filepath.Join(t.TempDir(), "weir")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	got, err := Table(bin)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/parity.md")
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		have[line] = true
	}
	for line := range strings.Lines(got) {
		if !have[line] {
			t.Errorf("docs/parity.md hasn't %s", line)
		}
	}
	t.Error("docs/parity.md differs from what the binary accepts: run make parity")
}
