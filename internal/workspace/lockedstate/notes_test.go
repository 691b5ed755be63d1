package lockedstate

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/state/storage/gcs"
	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/internal/workspace/statebackend"
)

// A cloud has states and what is noted beside them. It answers requests about notes
// with the status, unless that is 0.
type cloud struct {
	testservers.Google
	mu     sync.Mutex
	status int
	asked  int // about notes
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.String(), "tfintents") {
		c.mu.Lock()
		c.asked++
		status := c.status
		c.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	c.Google.ServeHTTP(w, r)
}

func (c *cloud) answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.asked = status, 0
}

// machine opens the state from a data directory of its own, with the lock.
func machine(t *testing.T, address string, seals encryption.State, damaged bool) (*Claimed, diag.List) {
	t.Helper()
	config := gcs.Schema().EmptyValue().AsValueMap()
	config["bucket"], config["access_token"], config["storage_custom_endpoint"] = cty.StringVal("states"), cty.StringVal("t"), cty.StringVal(address+"/storage/v1/")
	b, diags := statebackend.Opener{Types: backends.All()}.Open("gcs", cty.ObjectVal(config), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	s, diags := Open(b, "default", Options{
		Dir: t.TempDir(), DataDir: t.TempDir(), Program: "weir", Version: "1.2.3", Seals: seals, Damaged: damaged,
		Who: func() string { return "ann@home" }, Notice: func(string) {}, Problem: func(l diag.List) { t.Error(l) },
	})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	locked, diags := s.Lock(t.Context(), "apply", Locking{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(locked.Unlock)
	return locked, s.Read(t.Context())
}

// creating is a plan to create so many objects.
func creating(t *testing.T, n int) *plan.Plan {
	t.Helper()
	p := &plan.Plan{Graph: &execgraph.Graph{}}
	for i := range n {
		o := addr.Object{Instance: instance(t, fmt.Sprintf("a.b[%d]", i))}
		p.Changes = append(p.Changes, &plan.Change{Addr: o, Action: plan.Create})
		p.Graph.Steps = append(p.Graph.Steps, execgraph.Step{Kind: execgraph.Apply, Object: &o, Provider: &addr.ProviderConfig{}, Change: i + 1})
	}
	return p
}

func intend(t *testing.T, r *Recorder, o addr.Object) error {
	t.Helper()
	return r.Intent(plan.Intent{Object: o, Action: plan.Create})
}

// TestNotes: another machine learns what was being created, of encrypted states too; what the
// state has by then isn't in doubt, and nothing is left at the end.
func TestNotes(t *testing.T) {
	for name, seal := range map[string]encryption.State{"clear": {}, "sealed": seals(t, strict)} {
		c := &cloud{}
		at := httptest.NewServer(c)
		t.Cleanup(at.Close)
		const n = 200
		first, diags := machine(t, at.URL, seal, false)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		p := creating(t, n)
		r, diags := first.Record(t.Context(), p, nil)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		provider, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/x/a"]`)
		if err != nil {
			t.Fatal(err)
		}
		c.answer(0)
		var wg sync.WaitGroup
		for _, change := range p.Changes[:110] {
			wg.Go(func() {
				if err := intend(t, r, change.Addr); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if c.asked == 0 || c.asked > 60 {
			t.Errorf("%s: %d requests for 110 creations", name, c.asked)
		}
		made := p.Changes[3].Addr
		if err := r.Result(made, &state.Object{Provider: provider, JSON: []byte(`{"id":"i-3"}`)}); err != nil {
			t.Fatal(err)
		}
		if err := r.Result(p.Changes[4].Addr, nil); err != nil {
			t.Fatal(err)
		}
		r.rest() // it is killed
		r.w.Close()
		first.Unlock()

		second, diags := machine(t, at.URL, seal, false)
		doubted := map[addr.Object]bool{}
		for _, o := range second.Doubts() {
			doubted[o.Object] = true
		}
		for i, change := range p.Changes[:110] {
			saved := second.Snapshot().Objects[change.Addr] != nil
			if !saved && !doubted[change.Addr] && i != 4 {
				t.Errorf("%s: %s isn't named", name, change.Addr)
			}
		}
		if len(doubted) > 110+ahead || len(diags) == 0 || !strings.Contains(diags[0].Detail, "ann@home") {
			t.Errorf("%s: %d are in doubt: %v", name, len(doubted), diags)
		}
		if err := second.Settle(nil); err != nil {
			t.Fatal(err)
		}
		second.Unlock()
		third, diags := machine(t, at.URL, seal, false)
		if len(diags) > 0 || len(third.Doubts()) > 0 || third.noted {
			t.Errorf("%s: after all was settled: %v", name, diags)
		}
	}
}

// TestNoNotes: who may not write notes is notified and continues; where they stop being
// written nothing further is started; a damaged one stops the next run.
func TestNoNotes(t *testing.T) {
	c := &cloud{}
	at := httptest.NewServer(c)
	t.Cleanup(at.Close)
	begin := func(want string) *Recorder {
		t.Helper()
		s, diags := machine(t, at.URL, encryption.State{}, false)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		r, diags := s.Record(t.Context(), creating(t, 60), nil)
		if got := fmt.Sprint(diags); !strings.Contains(got, want) || (want == "") != (len(diags) == 0) {
			t.Errorf("got %s", got)
		}
		if r != nil {
			t.Cleanup(func() { r.rest(); r.w.Close() })
		}
		return r
	}
	c.answer(http.StatusForbidden)
	r := begin("Creations can't be noted beside the state")
	if err := intend(t, r, creating(t, 60).Changes[55].Addr); err != nil {
		t.Error(err)
	}
	r.s.unlock()
	c.answer(0)
	r = begin("")
	c.answer(http.StatusBadRequest)
	if err := intend(t, r, creating(t, 60).Changes[0].Addr); err != nil {
		t.Errorf("what was noted before: %v", err)
	}
	if err := intend(t, r, creating(t, 60).Changes[55].Addr); err == nil {
		t.Error("a creation was begun that nobody would know of")
	}
	r.s.unlock()
	c.answer(0)
	store, _ := r.s.takesNotes()
	text, err := store.Note(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-20] ^= 1
	if err := store.SetNote(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	s, diags := machine(t, at.URL, encryption.State{}, false)
	if !diags.HasErrors() || diags[0].Summary != "Damaged note" || !strings.Contains(diags[0].Detail, "recover -damaged") {
		t.Errorf("%v", diags)
	}
	s.unlock()
	if s, diags = machine(t, at.URL, encryption.State{}, true); diags.HasErrors() || len(s.Doubts()) == 0 {
		t.Errorf("%v, %v", diags, s.Doubts())
	}
}

// TestUnread: a run that has got the lock does nothing while the one that has lost it still writes its
// journal, or did when the state was read.
func TestUnread(t *testing.T) {
	c := &cloud{}
	at := httptest.NewServer(c)
	t.Cleanup(at.Close)
	s, diags := machine(t, at.URL, encryption.State{}, false)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	w, _ := unfinished(t, s.Session)
	if diags := s.Read(t.Context()); len(diags) > 0 {
		t.Fatal(diags)
	}
	w.Close()
	before, err := os.ReadFile(s.journalPath())
	if err != nil {
		t.Fatal(err)
	}
	if _, diags := s.Record(t.Context(), creating(t, 1), nil); !strings.Contains(fmt.Sprint(diags), "Nothing was done, because another run") {
		t.Errorf("got %v", diags)
	}
	if after, err := os.ReadFile(s.journalPath()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal of the other run is changed: %v", err)
	}
}
