package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	if err := (*Disk)(nil).Put(path, []byte("put"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(path, "put", 0o644)
	check(victim, "precious", 0o644)
	// Anything that can't be done leaves the old content and nothing beside it.
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

// TestReplaceMany: each file has its own answer, and its failure is nobody else's.
func TestReplaceMany(t *testing.T) {
	dir := t.TempDir()
	var files []Replacement
	for i := range 3 * mostAtOnce {
		folder := filepath.Join(dir, fmt.Sprint(i%5)) // the last isn't there
		if i < 4 {
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, Replacement{filepath.Join(folder, fmt.Sprint(i)), fmt.Append(nil, "text ", i), 0o600})
	}
	for i, err := range ReplaceMany(files) {
		got, _ := os.ReadFile(files[i].Path)
		if want := string(files[i].Content); i%5 < 4 && (err != nil || string(got) != want) {
			t.Errorf("%s: %q, %v", files[i].Path, got, err)
		}
		if i%5 == 4 && err == nil {
			t.Errorf("%s was written into a folder that isn't there", files[i].Path)
		}
	}
	for i := range 4 {
		entries, _ := os.ReadDir(filepath.Join(dir, fmt.Sprint(i)))
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") {
				t.Errorf("left behind: %s", entry.Name())
			}
		}
	}
	if errs := ReplaceMany(nil); len(errs) != 0 {
		t.Errorf("no files: %v", errs)
	}
}
