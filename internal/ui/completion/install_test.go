package completion

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestEdit: files of shells that are there are changed, through links, and keep their
// permissions; the others aren't made.
func TestEdit(t *testing.T) {
	home, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(elsewhere, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	rc := filepath.Join(home, ".zshrc")
	if err := os.Symlink(elsewhere, rc); err != nil {
		t.Fatal(err)
	}
	change := func(shell, _ string) string { return "for " + shell }
	for _, want := range [][]string{{rc}, nil} {
		written, err := Edit(home, change)
		if err != nil || !slices.Equal(written, want) {
			t.Errorf("%v %v", written, err)
		}
	}
	text, err := os.ReadFile(elsewhere)
	if err != nil || string(text) != "for zsh" {
		t.Errorf("%q %v", text, err)
	}
	if info, err := os.Lstat(elsewhere); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if list, err := os.ReadDir(home); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	if _, err := Edit("", change); err == nil {
		t.Error("no home directory")
	}
}
