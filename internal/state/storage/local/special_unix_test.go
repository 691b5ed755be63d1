//go:build unix

package local

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSpecial: what isn't a file is written to and stays what it is.
func TestSpecial(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("there are no pipes with names here: ", err)
	}
	for name, write := range map[string]func() error{
		"state":  func() error { return (&Store{}).replace(pipe, []byte("state")) },
		"backup": func() error { return (&Store{backup: pipe}).saveBackup("state", []byte("backup")) },
	} {
		read := make(chan string)
		go func() {
			data, _ := os.ReadFile(pipe)
			read <- string(data)
		}()
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if data := <-read; data != name {
			t.Errorf("%q came out, not the %s", data, name)
		}
		if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("it is %v now, %v", info.Mode(), err)
		}
	}
}
