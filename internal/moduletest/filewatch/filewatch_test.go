package filewatch_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/moduletest/filewatch"
)

// TestWait: what is written, made or removed since Begin is reported, in directories as by
// name, and what was read since is inspected from then on.
func TestWait(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.tf", "1")
	write("gone.tf", "1")
	write("sub/b.txt", "1")
	write("late.txt", "1")
	w := filewatch.Watcher{Dir: dir, Interval: time.Millisecond}
	names, dirs := []string{"sub/b.txt", "none.txt"}, []string{"."}
	w.Begin(names, dirs)
	names = append(names, "sub/late.txt")
	write("sub/late.txt", "1")
	w.Extend(names, dirs)
	write("a.tf", "22")
	write("new.tf", "1")
	write("sub/b.txt", "22")
	write("sub/other.txt", "1")
	if err := os.Remove(filepath.Join(dir, "gone.tf")); err != nil {
		t.Fatal(err)
	}
	if got := w.Wait(t.Context(), names, dirs); !slices.Equal(got, []string{"a.tf", "gone.tf", "new.tf", "sub/b.txt"}) {
		t.Errorf("changed: %v", got)
	}
}

// TestReads notes what is requested, whether it is there or not.
func TestReads(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := filewatch.NewReads(fsfuncs.Disk{Root: dir})
	_, _ = r.Read("a.txt")
	_, _ = r.Mode("./none.txt")
	_, _ = r.Match(".", "*.txt")
	if got := r.Files(); !slices.Equal(got, []string{"a.txt", "none.txt"}) {
		t.Errorf("files: %v", got)
	}
	if got := r.Dirs(); !slices.Equal(got, []string{"."}) {
		t.Errorf("directories: %v", got)
	}
}
