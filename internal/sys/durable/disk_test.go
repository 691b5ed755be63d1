package durable

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDisk: every change is queried before it is made, in the order in which a crash can come
// between them, and one that is rejected isn't made.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "file")
	var seen []Kind
	allowed := 1000
	opened := 0
	d := &Disk{
		Before: func(c Change) error {
			seen = append(seen, c.Kind)
			if len(seen) > allowed {
				return errors.New("no")
			}
			return nil
		},
		Opened: func(*os.File) { opened++ },
	}
	expect := func(what string, want ...Kind) {
		t.Helper()
		if !slices.Equal(seen, want) {
			t.Errorf("%s: %v, want %v", what, seen, want)
		}
		seen = nil
	}
	if err := d.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	expect("two folders", Folder, FolderSync, FolderSync)
	if err := d.MakeFolders(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	expect("folders that are there")
	if err := d.Replace(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("replacing", Open, Write, Sync, Move, FolderSync)
	if opened != 1 {
		t.Errorf("%d files were opened", opened)
	}
	for allowed = range 4 {
		if err := d.Replace(path, []byte("new"), 0o600); err == nil {
			t.Errorf("no error after %d changes", allowed)
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != "old" {
			t.Errorf("after %d changes: %q, %v", allowed, content, err)
		}
		seen = nil
	}
	allowed = 1000
	file, err := d.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	allowed = 1
	_, err = file.WriteAt([]byte("new"), 0)
	_, errAppend := file.Append([]byte("new"))
	if err == nil || errAppend == nil || file.Truncate(0) == nil || file.Sync() == nil || file.Turn("x") == nil || d.Link(path, path+"2") == nil || d.Remove(path) == nil || d.MakeFolders(path+"3", 0o755) == nil {
		t.Error("something was done that was refused")
	}
	expect("refused", Open, Write, Append, Write, Sync, Turn, Link, Remove, Folder)
}
