package session

import (
	"net/http/httptest"
	"testing"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/encryption"
	"weir.dev/weir/internal/journal"
	"weir.dev/weir/internal/state"
)

// TestFoldedWithoutLock: what a journal knows is folded once also by a run
// without a lock. What such a run takes out of the state stays out.
func TestFoldedWithoutLock(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := t.TempDir()
	next := func() *Session {
		s := open(t, at.URL, encryption.State{})
		s.DataDir = data
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return s
	}
	s := next()
	if err := s.Save(t.Context(), words("first")); err != nil {
		t.Fatal(err)
	}
	s = next()
	w, err := journal.Start(s.journalPath(), s.journalBegin(), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := addr.Object{Instance: instance(t, "a.b")}
	provider, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/x/a"]`)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Result(made, &state.Object{Provider: provider, JSON: []byte(`{"id":"1"}`)}); err != nil {
		t.Fatal(err)
	}
	if other := next(); len(other.Snapshot().Objects) > 0 {
		t.Error("the journal of a run that goes on was read")
	}
	w.Close()

	s = next()
	if s.Snapshot().Objects[made] == nil {
		t.Fatal("the object isn't recovered")
	}
	without := s.Snapshot().Clone()
	delete(without.Objects, made)
	without.Outputs["words"] = words("second").Outputs["words"]
	if err := s.Save(t.Context(), without); err != nil {
		t.Fatal(err)
	}
	if s = next(); s.Snapshot().Objects[made] != nil {
		t.Error("the object is in the state again")
	}
	if exists(s.journalPath()) {
		t.Error("the journal is still there")
	}
}

func instance(t *testing.T, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
