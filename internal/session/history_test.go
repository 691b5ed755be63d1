package session

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/encryption"
)

// TestHistoryOfServer keeps earlier states of a server only where they are
// encrypted.
func TestHistoryOfServer(t *testing.T) {
	for name, by := range map[string]encryption.State{"clear": {}, "encrypted": seals(t, strict)} {
		srv := &server{}
		at := httptest.NewServer(srv)
		data := t.TempDir()
		var last *Session
		for _, text := range []string{"first", "second", "third"} {
			last = open(t, at.URL, by)
			last.DataDir = data
			if diags := last.Read(t.Context()); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			if err := last.Save(t.Context(), words(text)); err != nil {
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
