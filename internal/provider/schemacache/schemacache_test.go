package schemacache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir.dev/weir/internal/provider/schemacache"
)

func files(t *testing.T, c schemacache.Cache) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(c.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestDamage: what isn't as it was written isn't used, whatever has become of it.
func TestDamage(t *testing.T) {
	c := schemacache.Cache{Dir: filepath.Join(t.TempDir(), "schemas")}
	if _, ok := c.Load("h1:a"); ok {
		t.Error("something before anything was stored")
	}
	data := []byte("what a provider declares")
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		func(b []byte) []byte { b[len(b)-len(data)-1] ^= 1; return b },
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return b[:20] },
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return append(b, 0) },
		func(b []byte) []byte { return bytes.Replace(b, []byte("h1:a"), []byte("h1:b"), 1) },
	} {
		c.Store("h1:a", data)
		if got, ok := c.Load("h1:a"); !ok || !bytes.Equal(got, data) {
			t.Fatalf("stored, but: %q", got)
		}
		if _, ok := c.Load("h1:other"); ok {
			t.Error("another package has the same schemas")
		}
		list := files(t, c)
		if len(list) != 1 {
			t.Fatal(list)
		}
		text, err := os.ReadFile(list[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(list[0], damage(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Load("h1:a"); ok {
			t.Errorf("damaged, and used: %q", got)
		}
		if left := files(t, c); len(left) > 0 {
			t.Errorf("damaged, and kept: %v", left)
		}
	}
}

// TestLimit: what wasn't used for longest makes room, and what was just stored
// stays however large it is.
func TestLimit(t *testing.T) {
	c := schemacache.Cache{Dir: t.TempDir(), Limit: 3000}
	old := time.Now().Add(-48 * time.Hour)
	for _, key := range []string{"first", "second"} {
		c.Store(key, make([]byte, 1000))
		for _, f := range files(t, c) {
			if err := os.Chtimes(f, old, old); err != nil {
				t.Fatal(err)
			}
		}
		old = old.Add(time.Hour)
	}
	if _, ok := c.Load("first"); !ok { // which says that it is in use
		t.Fatal("first isn't there")
	}
	c.Store("third", make([]byte, 1000))
	for key, want := range map[string]bool{"first": true, "second": false, "third": true} {
		if _, ok := c.Load(key); ok != want {
			t.Errorf("%s: %v", key, ok)
		}
	}
	c.Store("large", make([]byte, 10000))
	if _, ok := c.Load("large"); !ok || len(files(t, c)) != 1 {
		t.Errorf("large: %v, %v", ok, files(t, c))
	}
}

// TestLeftOver: what a process was writing when it was killed doesn't stay for good.
func TestLeftOver(t *testing.T) {
	c := schemacache.Cache{Dir: t.TempDir()}
	long := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{".new-1", ".new-2"} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte("a part"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(c.Dir, ".new-1"), long, long); err != nil {
		t.Fatal(err)
	}
	c.Store("a", []byte("data"))
	entries, err := os.ReadDir(c.Dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != ".new-2" { // somebody may still write it
		t.Errorf("%v, %v", entries, err)
	}
}
