package lockedstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/workspace/statebackend"
)

// TestFolderGone: when the folder with the state disappears while a run is under way,
// what the run did is saved in a new one if there was no state; else saving fails and
// it is printed.
func TestFolderGone(t *testing.T) {
	for _, before := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "gone")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		b := statebackend.Opener{Types: backends.All(), Dir: dir}.Local(nil)
		o := Options{Dir: dir, DataDir: filepath.Join(dir, "data"), Program: "weir", Version: "1.12.0", Problem: func(l diag.List) { t.Error(l) }}
		s, diags := Open(b, "default", o)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		claimed, diags := s.Lock(t.Context(), "apply", Locking{})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if before {
			if diags := claimed.Keep(t.Context(), nil, words("first")); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		diags = claimed.Keep(t.Context(), nil, words("precious"))
		text, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
		if before {
			if err == nil || !diags.HasErrors() {
				t.Fatalf("written over a state that is gone: %s", text)
			}
			text = []byte(diags.Err().Error())
		}
		if diags.HasErrors() != before || !strings.Contains(string(text), "precious") {
			t.Errorf("before: %v, %v: %v\n%s", before, diags, err, text)
		}
	}
}
