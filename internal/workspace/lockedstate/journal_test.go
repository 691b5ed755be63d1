package lockedstate

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/workspace/statebackend"
)

// TestFoldedWithoutLock: what a journal knows is folded once also by a run
// without a lock. Objects that such a run removes from the state stay out.
func TestFoldedWithoutLock(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := t.TempDir()
	var told diag.List
	next := func() *Session {
		s := open(t, at.URL, encryption.State{})
		s.DataDir = data
		if told = s.Read(t.Context()); told.HasErrors() {
			t.Fatal(told.Err())
		}
		return s
	}
	s := next()
	if err := s.save(t.Context(), words("first")); err != nil {
		t.Fatal(err)
	}
	s = next()
	w, made := unfinished(t, s)
	if other := next(); len(other.Snapshot().Objects) > 0 {
		t.Error("the journal of a run that goes on was read")
	}
	if err := w.Invoke("action.x.y"); err != nil {
		t.Fatal(err)
	}
	w.Close()

	s = next()
	if s.Text() != nil {
		t.Error("the stored text stands for a state that has more than that")
	}
	if s.Snapshot().Objects[made] == nil || s.Base().Objects[made] == nil {
		t.Fatal("the object isn't recovered")
	}
	if len(told) != 1 || told[0].Summary != "Recovered from an interrupted run" || !strings.Contains(told[0].Detail, "\n  - action.x.y") {
		t.Errorf("told %v", told)
	}
	without := s.Snapshot().Clone()
	delete(without.Objects, made)
	without.Outputs["words"] = words("second").Outputs["words"]
	if err := s.save(t.Context(), without); err != nil {
		t.Fatal(err)
	}
	before := s
	if s = next(); s.Snapshot().Objects[made] != nil {
		t.Error("the object is in the state again")
	}
	if exists(s.journalPath()) {
		t.Error("the journal is still there")
	}
	// The journal that another run has left since then stays, whatever the one before still saves.
	w, _ = unfinished(t, s)
	w.Close()
	if err := before.save(t.Context(), words("third")); err != nil {
		t.Fatal(err)
	}
	if !exists(s.journalPath()) {
		t.Error("the journal of another run is gone")
	}
}

// TestReserved: a state that nobody has written yet has a lineage as soon as it is locked, and
// nothing is left of it where none is written.
func TestReserved(t *testing.T) {
	dir := t.TempDir()
	s, diags := Open(statebackend.Opener{Dir: dir}.Local(nil), "default", Options{Dir: dir, DataDir: dir, Notice: func(string) {}, Problem: func(l diag.List) { t.Error(l.Err()) }})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	locked, diags := s.Lock(t.Context(), "apply", Locking{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	path := filepath.Join(dir, local.StateFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if there, diags := statefile.Read(text, path); there == nil || there.Lineage == "" || there.Lineage != s.Lineage() {
		t.Errorf("the file has %q: %v", text, diags)
	}
	locked.Unlock()
	if exists(path) {
		t.Error("a file is left")
	}
}

// TestJournalFound: a journal is found by the state's address, whatever the
// credentials for it are.
func TestJournalFound(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := t.TempDir()
	with := func(url, password string) *Session {
		s := open(t, url, encryption.State{})
		config := s.backend.Config.AsValueMap()
		config["username"], config["password"] = cty.StringVal("me"), cty.StringVal(password)
		b, diags := statebackend.Opener{Types: backends.All()}.Open("http", cty.ObjectVal(config), nil)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		s.backend, s.DataDir = b, data
		if diags := s.Read(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return s
	}
	w, made := unfinished(t, with(at.URL, "one"))
	w.Close()
	for _, url := range []string{at.URL, strings.Replace(at.URL, "://", "://user:word@", 1)} {
		if with(url, "two").Snapshot().Objects[made] == nil {
			t.Errorf("with another password for %s the object isn't recovered", url)
		}
	}
	if with(at.URL+"/other", "one").Snapshot().Objects[made] != nil {
		t.Error("the journal was taken for that of another state")
	}
}

// TestDamagedJournal: damage stops a run and names what is known, until somebody
// takes what can be read.
func TestDamagedJournal(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := t.TempDir()
	next := func(damaged bool) (*Session, diag.List) {
		s := open(t, at.URL, encryption.State{})
		s.DataDir, s.Damaged = data, damaged
		return s, s.Read(t.Context())
	}
	s, _ := next(false)
	w, made := unfinished(t, s)
	for _, name := range []string{"a.open", "a.last"} {
		if err := w.Intent(journal.Operation{Object: addr.Object{Instance: instance(t, name)}, Action: journal.Create}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	text, err := os.ReadFile(s.journalPath())
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-10] ^= 1 // in the last line
	if err := os.WriteFile(s.journalPath(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, diags := next(false)
	if !diags.HasErrors() || diags[0].Summary != "Damaged journal" {
		t.Fatal(diags)
	}
	for _, known := range []string{"a.b", "a.open (create)", "weir recover -damaged"} {
		if !strings.Contains(diags[0].Detail, known) {
			t.Errorf("%q isn't in %s", known, diags[0].Detail)
		}
	}
	if kept, err := os.ReadFile(s.journalPath()); err != nil || string(kept) != string(text) {
		t.Error("the journal wasn't kept")
	}
	s, diags = next(true)
	if diags.HasErrors() || s.Snapshot().Objects[made] == nil || len(s.Doubts()) != 1 {
		t.Fatal(diags, s.Doubts())
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

// unfinished begins the journal of an apply that made an object.
func unfinished(t *testing.T, s *Session) (*journal.Writer, addr.Object) {
	t.Helper()
	w, err := journal.Start(nil, s.journalPath(), s.journalBegin(), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/x/a"]`)
	if err != nil {
		t.Fatal(err)
	}
	made := addr.Object{Instance: instance(t, "a.b")}
	if err := w.Result(made, &state.Object{Provider: provider, JSON: []byte(`{"id":"1"}`)}); err != nil {
		t.Fatal(err)
	}
	return w, made
}

// TestMigrateUnfinished: what only a journal knows comes along to another
// backend, with a lock or without, and what is in doubt keeps it from that.
func TestMigrateUnfinished(t *testing.T) {
	for _, off := range []bool{false, true} {
		for _, written := range []bool{false, true} {
			t.Chdir(t.TempDir())
			o := Options{DataDir: "data", Program: "weir", Version: "1.12.0", Problem: func(l diag.List) { t.Error(l) }}
			old, next := statebackend.Opener{Types: backends.All(), Dir: "."}.Local(nil), localAt(t, "moved.tfstate")
			openIn := func(b *statebackend.Backend) *Session {
				s, diags := Open(b, "default", o)
				diags.Append(s.Read(t.Context()))
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				return s
			}
			s := openIn(old)
			if written {
				if err := s.save(t.Context(), words("first")); err != nil {
					t.Fatal(err)
				}
				s = openIn(old)
			}
			w, made := unfinished(t, s)
			w.Close()
			migrate := func() diag.List {
				plan, diags := PlanCopies(t.Context(), old, next, o, nil)
				if diags.HasErrors() || len(plan) != 1 {
					t.Fatal(plan, diags)
				}
				return plan[0].Run(t.Context(), Locking{Off: off}, o)
			}
			if diags := migrate(); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			moved := openIn(next)
			if _, ok := moved.Base().Outputs["words"]; moved.Base().Objects[made] == nil || ok != written {
				t.Errorf("without a lock %v, written %v: moved %v", off, written, moved.Base())
			}

			w, err := journal.Start(nil, s.journalPath(), s.journalBegin(), nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Intent(journal.Operation{Object: addr.Object{Instance: instance(t, "a.c")}, Action: journal.Create}); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if diags := migrate(); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "the objects in doubt") {
				t.Errorf("something in doubt was left behind: %v", diags)
			}
		}
	}
}

func localAt(t *testing.T, path string) *statebackend.Backend {
	t.Helper()
	config := local.Schema().EmptyValue().AsValueMap()
	config["path"] = cty.StringVal(path)
	b, diags := statebackend.Opener{Types: backends.All()}.Open("local", cty.ObjectVal(config), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return b
}

// TestOutlinedBesideJournal: a session with outlines of objects recovers nothing that the state
// has already.
func TestOutlinedBesideJournal(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	data := t.TempDir()
	next := func(outlined bool) *Session {
		s := open(t, at.URL, encryption.State{})
		s.DataDir, s.Outlined = data, outlined
		if diags := s.Read(t.Context()); len(diags) > 0 {
			t.Fatalf("outlined %t: %v", outlined, diags)
		}
		return s
	}
	s := next(false)
	w, made := unfinished(t, s)
	folded := open(t, at.URL, encryption.State{})
	folded.DataDir = data
	w.Close()
	_ = folded.Read(t.Context())
	w, _ = unfinished(t, s) // the same journal, beside a state that has its results
	w.Close()
	s.journal = nil
	if err := s.save(t.Context(), folded.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if !exists(s.journalPath()) {
		t.Fatal("no journal to compare with")
	}
	for _, outlined := range []bool{false, true} {
		if next(outlined).Snapshot().Objects[made] == nil {
			t.Error("the object is missing")
		}
	}
}

// TestSavedBetween: a state that a run saves while its apply is under way is its own, so that a
// deletion after it isn't undone by a kill.
func TestSavedBetween(t *testing.T) {
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
	w, made := unfinished(t, s)
	s.journal = w
	between := words("between")
	between.Objects[made] = &state.Object{Provider: addr.ProviderConfig{Provider: addr.OpenTofu.Provider("a")}, JSON: []byte(`{"id":"1"}`)}
	if err := s.save(t.Context(), between); err != nil {
		t.Fatal(err)
	}
	if err := w.Result(made, nil); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if s = next(); s.Snapshot().Objects[made] != nil {
		t.Error("the object that was deleted is in the state")
	}
}
