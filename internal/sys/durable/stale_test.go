//go:build unix

package durable

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestStale: a replacement removes what a killed run has left of the same file, and
// nothing that somebody still writes or that is of another file.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p")
	for _, name := range []string{".p.123.new", ".p.q.7.new", ".pq.5.new", ".p.8.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.OpenFile(filepath.Join(dir, ".p.8.new"), os.O_RDWR, 0)
	if err != nil || !hold(written) {
		t.Fatal(err)
	}
	defer written.Close()
	if err := Replace(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, e := range entries {
		got += e.Name() + " "
	}
	if want := ".p.8.new .p.q.7.new .pq.5.new p "; got != want {
		t.Errorf("%q is left, not %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, ".p.9.new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range ReplaceMany([]Replacement{{path, []byte("y"), 0o644}, {filepath.Join(dir, "p.q"), nil, 0o644}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".p.*.new")); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
	if err := os.Remove(written.Name()); err != nil {
		t.Fatal(err)
	}
	if hold(written) {
		t.Error("a removed file is held")
	}
}

// TestScratch: a scratch folder is removed with all that is in it, as is one that a killed run
// has left. Those of others, and of runs that still work, stay.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"s.1.new/a/b", "s.x.new", "t.1.new", "s.2.old"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	other, err := NewScratch(dir, "s")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := NewScratch(dir, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine.Join("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mine.Remove()
	if _, err := os.Stat(other.Path); err != nil {
		t.Error(err)
	}
	other.Remove()
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 3 {
		t.Errorf("%v is left", left)
	}
}

// TestScratchAtOnce: runs that make scratch folders of one name at the same time never take
// those of the others.
func TestScratchAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 40 {
				s, err := NewScratch(dir, "s")
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(s.Join("file"), nil, 0o600); err != nil {
					t.Error(err)
				}
				s.Remove()
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
