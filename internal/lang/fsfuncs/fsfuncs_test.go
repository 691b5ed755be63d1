package fsfuncs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func length(r io.Reader) (string, error) {
	content, err := io.ReadAll(r)
	return strings.Repeat("x", len(content)), err
}

// answers asks everything and prints what comes.
func answers(s Source) []string {
	var all []string
	add := func(text string, err error) {
		if errors.Is(err, fs.ErrNotExist) {
			text = "missing"
		} else if err != nil {
			var perr *fs.PathError
			if errors.As(err, &perr) {
				err = perr.Err
			}
			text = "error " + err.Error()
		}
		all = append(all, text)
	}
	for _, path := range []string{"a", "none", "d"} {
		content, err := s.Read(path)
		add(string(content), err)
		add(s.Sum(path, "length", length))
		mode, err := s.Mode(path)
		add(mode.String(), err)
	}
	list, err := s.Match(".", "d/**")
	add(strings.Join(list, ","), err)
	list, err = s.Match(".", "[")
	add(strings.Join(list, ","), err)
	add(s.Abs("a"))
	add(s.Home())
	return all
}

// TestRecord: a recorder says what the disk says, and one made from its record
// says so elsewhere.
func TestRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "/home/first")
	write(t, "a", "content")
	write(t, "d/b", "")
	write(t, "d/e/c", "")
	want := answers(Disk{})
	r := NewRecorder(Disk{}, Record{})
	if got := answers(r); !slices.Equal(got, want) {
		t.Errorf("recording: got %q\nwant %q", got, want)
	}
	write(t, "a", "changed")
	if got := answers(r); !slices.Equal(got, want) {
		t.Errorf("asked again: got %q\nwant %q", got, want)
	}
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "/home/second")
	other := NewRecorder(Disk{}, r.Record())
	if got := answers(other); !slices.Equal(got, want) {
		t.Errorf("elsewhere: got %q\nwant %q", got, want)
	}
	// Anything that wasn't asked is asked of the disk.
	write(t, "new", "n")
	if content, err := other.Read("new"); err != nil || string(content) != "n" {
		t.Errorf("got %q, %v", content, err)
	}
}

// TestLargeContents: a content that isn't kept has to be there and the same.
func TestLargeContents(t *testing.T) {
	t.Chdir(t.TempDir())
	large := strings.Repeat("l", maxContent+1)
	write(t, "large", large)
	r := NewRecorder(Disk{}, Record{})
	if content, err := r.Read("large"); err != nil || string(content) != large {
		t.Fatal(len(content), err)
	}
	record := r.Record()
	if len(record.Contents) != 0 {
		t.Error("it is kept")
	}
	if content, err := NewRecorder(Disk{}, record).Read("large"); err != nil || string(content) != large {
		t.Error(len(content), err)
	}
	write(t, "large", "other")
	if _, err := NewRecorder(Disk{}, record).Read("large"); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
	if err := os.Remove("large"); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRecorder(Disk{}, record).Read("large"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	write(t, "a", strings.Repeat("a", maxContent))
	r = NewRecorder(Disk{}, Record{})
	r.size = maxContents - 1
	if _, err := r.Read("a"); err != nil || len(r.Record().Contents) != 0 {
		t.Error(err, "it is kept beside many others")
	}
}

// TestWithoutEnd: what has no end, and oversized content, isn't read.
func TestWithoutEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	large, err := os.Create("large")
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(int64(MaxContent) + 1); err != nil {
		t.Fatal(err)
	}
	large.Close()
	if _, err := (Disk{}).Read("large"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if content, err := (Disk{}).Read(os.DevNull); err != nil || len(content) != 0 {
		t.Error(content, err)
	}
}
