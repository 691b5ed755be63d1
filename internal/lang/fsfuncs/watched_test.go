package fsfuncs

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWatchedNoticesChanges asks each question before and after a change, and once more.
func TestWatchedNoticesChanges(t *testing.T) {
	all := func(r io.Reader) (string, error) {
		text, err := io.ReadAll(r)
		return string(text), err
	}
	for name, ask := range map[string]func(Source) string{
		"read":  func(s Source) string { _, _ = s.Read("a.txt"); return "a.txt" },
		"sum":   func(s Source) string { _, _ = s.Sum("a.txt", "all", all); return "a.txt" },
		"mode":  func(s Source) string { _, _ = s.Mode("b.txt"); return "b.txt" },
		"match": func(s Source) string { _, _ = s.Match(".", "*.txt"); return "." },
	} {
		dir := t.TempDir()
		put := func(file, text string) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put("a.txt", "one")
		w := NewWatched(Disk{Root: dir})
		expect := func(when string, want ...string) {
			t.Helper()
			if got := w.Changed(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q changed, want %q", name, when, got, want)
			}
		}
		path := ask(w)
		ask(w)
		expect("the same")
		put("a.txt", "two")
		put("b.txt", "new")
		ask(w)
		expect("another answer", path)
		w.Settle()
		ask(w)
		expect("the same since")
	}
}
