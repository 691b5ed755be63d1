package lockedstate

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/database"
	"weir.dev/weir/internal/workspace/statebackend"
)

// TestHistoryEnds: as many are kept as that, and can be verified, wherever the data directory is.
func TestHistoryEnds(t *testing.T) {
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := filepath.Join(t.TempDir(), "[data]")
	by := seals(t, strict)
	for n := range storage.EarlierStates + 3 {
		s := open(t, at.URL, by)
		s.DataDir = data
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if err := s.save(t.Context(), words(strings.Repeat("x", n+1))); err != nil {
			t.Fatal(err)
		}
		if list := s.History(); len(list) > storage.EarlierStates || n > storage.EarlierStates && list[0].Serial != uint64(n) {
			t.Fatalf("after %d: %v", n+1, list)
		}
	}
	s := open(t, at.URL, by)
	s.DataDir = data
	var verified int
	for _, f := range s.Verify(t.Context()) {
		if f.What == "earlier state" {
			verified++
		}
		if f.Problems.HasErrors() {
			t.Errorf("%s: %v", f.What, f.Problems.Err())
		}
	}
	if verified != storage.EarlierStates {
		t.Errorf("%d are verified", verified)
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

// TestRuns: who wrote a state by which command is recorded with counts of managed objects, as
// many as states are kept, also where the states aren't; and nothing without a command.
func TestRuns(t *testing.T) {
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := t.TempDir()
	save := func(command string, next *state.Snapshot) *Session {
		t.Helper()
		s := open(t, at.URL, encryption.State{})
		s.DataDir, s.Command, s.Who = data, command, func() string { return "ana@laptop" }
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		if err := s.save(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return s
	}
	objects := func(values ...string) *state.Snapshot {
		out := state.Empty()
		for i, v := range values {
			at := addr.Object{Instance: addr.Instance{Resource: addr.Resource{Name: addr.Name{Mode: addr.Managed, Type: "t", Name: "n"}}, Key: addr.IntKey(i)}}
			out.Objects[at] = &state.Object{Provider: addr.ProviderConfig{Provider: addr.Provider{Host: "h", Namespace: "n", Type: "t"}}, JSON: []byte(`{"id":"` + v + `"}`)}
		}
		return out
	}
	save("", objects("a"))
	save("apply", objects("a", "b", "c"))
	s := save("state rm", objects("a", "d"))
	list := s.Runs()
	if len(list) != 2 {
		t.Fatalf("recorded %v", list)
	}
	for i, want := range []Run{{Serial: 3, Command: "state rm", Objects: 2, Changed: 1, Removed: 1}, {Serial: 2, Command: "apply", Objects: 3, Added: 2}} {
		got := list[i]
		if got.Who != "ana@laptop" || got.Ended.Before(got.Began) || got.Lineage != s.base.Lineage {
			t.Errorf("recorded %v", got)
		}
		got.Who, got.Began, got.Ended, got.Lineage = "", time.Time{}, time.Time{}, ""
		if got != want {
			t.Errorf("recorded %v, not %v", got, want)
		}
	}
	for n := range storage.EarlierStates + 5 {
		s = save("apply", objects("a", strings.Repeat("x", n+1)))
	}
	if list = s.Runs(); len(list) != storage.EarlierStates+1 || list[0].Serial != s.base.Serial {
		t.Errorf("%d are kept", len(list))
	}
	// Another state in the same place has none of these runs.
	s.base.Lineage = "another"
	if list = s.Runs(); len(list) > 0 {
		t.Errorf("another state has %v", list)
	}
}

// TestHistoryOfDatabase has the backend keep earlier states and runs, where every machine finds
// them.
func TestHistoryOfDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states.db")
	begin := func() *Session {
		t.Helper()
		config := map[string]cty.Value{"url": cty.StringVal("sqlite:" + path), "schema": cty.NullVal(cty.String)}
		b, diags := database.New(cty.ObjectVal(config), storage.Env{})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		s, diags := Open(&statebackend.Backend{Backend: b, Kind: "database"}, "default", Options{DataDir: t.TempDir(), Command: "apply"})
		if diags.Append(s.Read(t.Context())); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return s
	}
	for _, text := range []string{"first", "second", "third"} {
		if err := begin().save(t.Context(), words(text)); err != nil {
			t.Fatal(err)
		}
	}
	s := begin()
	list, runs := s.History(), s.Runs()
	if len(list) != 2 || list[0].Serial != 2 || len(runs) != 3 || runs[0].Serial != 3 || runs[0].Command != "apply" || s.NoHistory() != "" {
		t.Fatalf("%v %v %q", list, runs, s.NoHistory())
	}
	for _, k := range list {
		if earlier, diags := k.Read(); diags.HasErrors() || earlier.Serial != k.Serial {
			t.Errorf("serial %d: %v", k.Serial, diags)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.DataDir, "history", "*")); len(left) > 0 {
		t.Errorf("files: %v", left)
	}
	found := 0
	for _, f := range s.Verify(t.Context()) {
		if f.What == "earlier state" && len(f.Problems) == 0 {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d earlier states were read", found)
	}
}
