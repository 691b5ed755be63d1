package lockedstate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/state/storage/database"
	"weir.dev/weir/internal/workspace/statebackend"
)

// inDatabase opens the state in a SQLite file as a process of that name would.
func inDatabase(t *testing.T, dir string, who crowd) *Session {
	t.Helper()
	config := database.Schema().EmptyValue().AsValueMap()
	config["url"] = cty.StringVal("sqlite:" + filepath.Join(dir, "states.db"))
	b, diags := statebackend.Opener{Types: backends.All(), Dir: dir, Getenv: func(string) string { return "" }}.Open("database", cty.ObjectVal(config), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	s, diags := Open(b, "default", Options{
		Dir: dir, DataDir: dir, Program: "weir", Version: "1.2.3", Processes: who, Who: func() string { return who.this },
		Notice: func(string) {}, Problem: func(diag.List) {}, // the locks of the dead are gone
	})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return s
}

// begin locks for an operation and reads.
func begin(t *testing.T, s *Session, operation string, l Locking) *Claimed {
	t.Helper()
	claimed, diags := s.Lock(t.Context(), operation, l)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(claimed.Unlock)
	if diags := s.Read(t.Context()); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return claimed
}

// locked reports whether others have to wait for a run.
func locked(t *testing.T, dir string) bool {
	t.Helper()
	s, diags := inDatabase(t, dir, crowd{"other", nil}).Lock(t.Context(), "apply", Locking{})
	if s != nil {
		s.Unlock()
	}
	return diags.HasErrors()
}

// withObject is a state with one more object.
func withObject(t *testing.T, s *state.Snapshot, address, id string) *state.Snapshot {
	t.Helper()
	next := s.Clone()
	next.Objects[addr.Object{Instance: instance(t, address)}] = &state.Object{Provider: addr.ProviderConfig{Provider: addr.Provider{Host: "h", Namespace: "n", Type: "t"}}, JSON: []byte(`{"id":"` + id + `"}`)}
	return next
}

func addresses(s *Session) (list []string) {
	for _, at := range s.Snapshot().Addresses() {
		list = append(list, at.String())
	}
	return list
}

// TestUnlockedPlan has a plan take no lock, also beside an apply, until an earlier run has left a
// journal.
func TestUnlockedPlan(t *testing.T) {
	dir := t.TempDir()
	first := begin(t, inDatabase(t, dir, crowd{"first", nil}), "apply", Locking{})
	if err := first.Save(t.Context(), withObject(t, state.Empty(), "a.b", "1")); err != nil {
		t.Fatal(err)
	}
	first.Unlock()
	planning := begin(t, inDatabase(t, dir, crowd{"planning", nil}), "plan", Locking{})
	if !planning.Unlocked() || locked(t, dir) {
		t.Error("a plan takes the lock")
	}
	dead := begin(t, inDatabase(t, dir, crowd{"dead", nil}), "apply", Locking{})
	p := creating(t, 2)
	p.Refreshed = dead.Snapshot()
	r, diags := dead.Record(t.Context(), p, nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if err := intend(t, r, p.Changes[0].Addr); err != nil {
		t.Fatal(err)
	}
	beside := begin(t, inDatabase(t, dir, crowd{"beside", nil}), "plan", Locking{})
	if !beside.Unlocked() || len(beside.Doubts()) > 0 {
		t.Errorf("beside an apply: %v is in doubt", beside.Doubts())
	}
	made := withObject(t, state.Empty(), p.Changes[0].Addr.String(), "2").Objects[p.Changes[0].Addr]
	if err := r.Result(p.Changes[0].Addr, made); err != nil {
		t.Fatal(err)
	}
	if err := intend(t, r, p.Changes[1].Addr); err != nil {
		t.Fatal(err)
	}
	r.rest()
	r.w.Close() // as a process that ends
	held, diags := inDatabase(t, dir, crowd{"still", nil}).Lock(t.Context(), "plan", Locking{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if diags := held.Read(t.Context()); diags.HasErrors() || !held.Unlocked() || len(addresses(held.Session)) != 2 {
		t.Errorf("while the lock is held: %v, %v", addresses(held.Session), diags)
	}
	after := begin(t, inDatabase(t, dir, crowd{"after", map[string]bool{"dead": true}}), "plan", Locking{})
	if after.Unlocked() || len(after.Doubts()) != 1 || len(addresses(after.Session)) != 2 {
		t.Errorf("after the end: %v, in doubt %v", addresses(after.Session), after.Doubts())
	}
	if err := after.Settle(nil); err != nil {
		t.Fatal(err)
	}
}

// TestLockParts has runs lock parts, save beside each other, and leave journals that the next run
// with the whole lock folds.
func TestLockParts(t *testing.T) {
	dir := t.TempDir()
	const parts = "a.b[%d]"
	claim := func(who crowd, n int) (*Claimed, diag.List) {
		c := begin(t, inDatabase(t, dir, who), "apply", Locking{Parts: true})
		if !c.Unlocked() {
			return c, nil
		}
		return c, c.LockParts(t.Context(), []string{fmt.Sprintf(parts, n)}, nil)
	}
	new, diags := claim(crowd{"new", nil}, 0)
	if diags.HasErrors() || new.parts {
		t.Fatalf("without a state: %v", diags.Err())
	}
	if err := new.Save(t.Context(), withObject(t, state.Empty(), "a.seed", "0")); err != nil {
		t.Fatal(err)
	}
	new.Unlock()
	apply := func(who crowd, n int) (*Claimed, *Recorder, addr.Object) {
		t.Helper()
		c, diags := claim(who, n)
		if diags.HasErrors() || !c.parts {
			t.Fatalf("%s: %v", who.this, diags.Err())
		}
		p := creating(t, 3)
		p.Changes, p.Graph.Steps = p.Changes[n:n+1], p.Graph.Steps[n:n+1]
		p.Graph.Steps[0].Change, p.Refreshed = 1, c.Snapshot()
		r, diags := c.Record(t.Context(), p, nil)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		at := p.Changes[0].Addr
		if err := r.Intent(plan.Intent{Object: at, Action: plan.Create}); err != nil {
			t.Fatal(err)
		}
		return c, r, at
	}
	one, first, _ := apply(crowd{"one", nil}, 0)
	two, second, at := apply(crowd{"two", nil}, 1)
	if _, diags := claim(crowd{"three", nil}, 1); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "that run works on a.b[1]") || !locked(t, dir) {
		t.Errorf("an object that is locked: %v", diags.Err())
	}
	made := withObject(t, two.Snapshot(), at.String(), "2")
	if err := second.Result(at, made.Objects[at]); err != nil {
		t.Fatal(err)
	}
	if diags := two.Keep(t.Context(), second, made); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	two.Unlock()
	if left := one.others(); len(left) > 0 || !slices.ContainsFunc(two.others(), func(path string) bool { return path == one.journalPath() }) {
		t.Errorf("journals: %v", left)
	}
	first.rest()
	first.w.Close() // as a process that ends
	after := crowd{"after", map[string]bool{"one": true}}
	verified := inDatabase(t, dir, after).Verify(t.Context())
	if !slices.ContainsFunc(verified, func(f Finding) bool { return f.What == "journal" && f.Unfinished }) {
		t.Errorf("verified: %+v", verified)
	}
	c, diags := claim(after, 2)
	if diags.HasErrors() || c.parts || len(c.Doubts()) != 1 || strings.Join(addresses(c.Session), " ") != "a.b[1] a.seed" {
		t.Errorf("after the end: parts %v, %v in doubt, %v, %v", c.parts, c.Doubts(), addresses(c.Session), diags.Err())
	}
	if err := c.Settle(nil); err != nil {
		t.Fatal(err)
	}
	c.Unlock()
	c, _, _ = apply(crowd{"last", nil}, 2)
	if diags := c.Keep(t.Context(), nil, nil); diags.HasErrors() {
		t.Error(diags.Err())
	}
}
