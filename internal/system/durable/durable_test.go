package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	victim := filepath.Join(dir, "victim")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, want string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(name)
		info, errInfo := os.Lstat(name)
		if err != nil || errInfo != nil || string(got) != want || info.Mode() != mode {
			t.Errorf("%s: %q %v %v", name, got, info.Mode(), err)
		}
	}
	write(victim, "precious")
	if err := os.Symlink(victim, path); err != nil {
		t.Skip(err)
	}
	for _, text := range []string{"first", "", "third"} {
		if err := Replace(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check(path, text, 0o600)
	}
	check(victim, "precious", 0o644)
	// What can't be done leaves the old content and nothing beside it.
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Replace(folder, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if err := Replace(filepath.Join(dir, "none", "file"), nil, 0o600); err == nil {
		t.Error("a folder was made")
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}
