package lockedstate

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/encryption"
)

// TestHistoryEnds: as many are kept as that, wherever the data directory is.
func TestHistoryEnds(t *testing.T) {
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := filepath.Join(t.TempDir(), "[data]")
	by := seals(t, strict)
	for n := range keptStates + 3 {
		s := open(t, at.URL, by)
		s.DataDir = data
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if err := s.save(t.Context(), words(strings.Repeat("x", n+1))); err != nil {
			t.Fatal(err)
		}
		if list := s.History(); len(list) > keptStates || n > keptStates && list[0].Serial != uint64(n) {
			t.Fatalf("after %d: %v", n+1, list)
		}
	}
}

// TestHistoryOfServer keeps earlier states of a server only where they are
// encrypted.
func TestHistoryOfServer(t *testing.T) {
	for name, by := range map[string]encryption.State{"clear": {}, "encrypted": seals(t, strict)} {
		srv := &server{}
		at := httptest.NewServer(srv)
		data := filepath.Join(t.TempDir(), "[data]")
		var last *Session
		for _, text := range []string{"first", "second", "third"} {
			last = open(t, at.URL, by)
			last.DataDir = data
			if diags := last.Read(t.Context()); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			if err := last.save(t.Context(), words(text)); err != nil {
				t.Fatal(err)
			}
		}
		at.Close()
		list := last.History()
		if name == "clear" {
			if why := last.NoHistory(); len(list) > 0 || !strings.Contains(why, `"http" backend aren't kept`) {
				t.Errorf("%v are kept: %q", list, why)
			}
		} else if len(list) != 2 || list[0].Serial != 2 || last.NoHistory() != "" {
			t.Errorf("kept %v, %q", list, last.NoHistory())
		} else if s, diags := list[1].Read(); diags.HasErrors() || s.Outputs["words"].Value.AsString() != "first" {
			t.Errorf("the first is %v %v", s, diags)
		}
		_ = filepath.WalkDir(data, func(path string, _ os.DirEntry, _ error) error {
			if text, err := os.ReadFile(path); err == nil && (bytes.Contains(text, []byte("first")) || bytes.Contains(text, []byte("second"))) {
				t.Errorf("%s: %s has the state in clear", name, path)
			}
			return nil
		})
	}
}
