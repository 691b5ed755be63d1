package statehistory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
)

// TestFind: one may go back to earlier states, but not behind a move between states, nor to a state
// of another lineage or one that can't be read.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	open := func() *lockedstate.Claimed {
		t.Helper()
		s, diags := lockedstate.Open(statebackend.Opener{Dir: dir}.Local(nil), "default", lockedstate.Options{Dir: dir, DataDir: dir, Transfers: true, Problem: func(l diag.List) { t.Error(l.Err()) }})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		locked, diags := s.Lock(t.Context(), "apply", lockedstate.Locking{Off: true})
		if diags.Append(s.Read(t.Context())); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return locked
	}
	for serial := 1; serial <= 6; serial++ {
		next := state.Empty()
		next.Outputs["serial"] = state.Output{Value: cty.NumberIntVal(int64(serial))}
		if serial == 3 {
			next.Transfer = &state.Transfer{ID: "x", Sends: true, Dir: "../other", Workspace: "default"}
		}
		if err := open().Save(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	h := Of{open().Session}
	if got := h.Serials(); !slices.Equal(got, []uint64{5, 4, 3, 2, 1}) {
		t.Fatalf("kept: %v", got)
	}
	files, err := filepath.Glob(filepath.Join(dir, "history", "*", "*1.tfstate"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(files[0]), "0000000005.tfstate")
	text, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte(strings.ReplaceAll(string(text), h.Session.Base().Lineage, "another")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		serial uint64
		want   string
	}{
		{0, "Earlier state of another lineage"}, {5, "Earlier state of another lineage"}, {4, ""}, {3, "Objects were moved to or from another state"},
		{2, "Objects were moved to or from another state"}, {1, "Unsupported state file format"}, {9, "No earlier state"},
	} {
		found, diags := h.Find(test.serial, "weir")
		switch {
		case test.want == "" && (found == nil || found.Serial != test.serial || diags.HasErrors()):
			t.Errorf("%d: %v, %v", test.serial, found, diags.Err())
		case test.want != "" && (found != nil || len(diags) == 0 || diags[0].Summary != test.want):
			t.Errorf("%d: %v, %v", test.serial, found, diags)
		}
	}
	list := h.List()
	if len(list) != 6 || !list[0].Now || list[0].Kept || !list[1].Kept || list[5].Problems == nil {
		t.Errorf("%v", list)
	}
}
