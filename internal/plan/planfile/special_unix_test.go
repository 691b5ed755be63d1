//go:build unix

package planfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"weir.dev/weir/internal/plan"
)

// TestSpecial: what isn't a file is written to and stays what it is.
func TestSpecial(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("there are no pipes with names here: ", err)
	}
	read := make(chan []byte)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- data
	}()
	if err := Write(pipe, Content{Plan: &plan.Plan{}}, nil); err != nil {
		t.Fatal(err)
	}
	if data := <-read; !Is(data) {
		t.Errorf("%d bytes that are no plan", len(data))
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("it is %v now, %v", info.Mode(), err)
	}
}
