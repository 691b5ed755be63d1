package module

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMaxSource: a file of configuration that is too long is rejected before it is read, and
// other files aren't.
func TestMaxSource(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"main.tf", "state.tfstate"} {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Truncate(MaxSource + 1); err != nil { // no block of it is on the disk
			t.Fatal(err)
		}
		file.Close()
	}
	files := Disk{Root: dir}
	if _, err := files.ReadFile("main.tf"); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("%v", err)
	}
	if data, err := files.ReadFile("state.tfstate"); err != nil || len(data) != MaxSource+1 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	p := parse(files, "main.tf")
	if len(p.diags) != 1 || !strings.Contains(p.diags[0].Detail, "64") || p.file != nil {
		t.Errorf("%v", p.diags)
	}
	long := Disk{FS: fstest.MapFS{"a.tf": {Data: make([]byte, MaxSource+1)}}}
	if _, err := long.ReadFile("a.tf"); err == nil {
		t.Error("read whole")
	}
}
