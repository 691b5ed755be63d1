package transfer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backends"
	statehttp "weir.dev/weir/internal/state/storage/http"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/internal/sys/failpoint"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/transfer"
)

const count = 50

func object(name string) addr.Object {
	i, err := addr.ParseInstance("terraform_data." + name)
	if err != nil {
		panic(err)
	}
	return addr.Object{Instance: i}
}

func stored(id string, needs ...string) *state.Object {
	o := &state.Object{Provider: addr.ProviderConfig{Provider: addr.Builtin("terraform")}, JSON: fmt.Appendf(nil, `{"id":%q}`, id)}
	for _, n := range needs {
		o.Dependencies = append(o.Dependencies, object(n).Resource)
	}
	return o
}

// A machine is where runs are: each has its own data directory, and processes of others have ended.
type machine struct {
	t    *testing.T
	name string
	data string

	mu     sync.Mutex
	died   bool
	left   int  // requests until it dies; negative for never
	before bool // it dies before the last one is done
}

func (m *machine) This() string          { return m.name }
func (m *machine) Gone(info string) bool { return info != m.name }
func (m *machine) Exclude(context.Context, string) (func(), error) {
	return func() {}, nil
}

// serve passes requests on to the servers while the machine lives.
func (m *machine) serve(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.left--
		if m.died = m.died || m.left == 0 && m.before; m.died {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		to.ServeHTTP(w, r)
		m.died = m.left == 0
	})
}

// A world has the two states.
type world struct {
	t       *testing.T
	dir     string
	servers map[string]*testservers.HTTP // by the names of states that aren't in files
	n       int
}

// machine is another machine, which dies at a request.
func (w *world) machine(left int, before bool) (*machine, string) {
	w.n++
	m := &machine{t: w.t, name: fmt.Sprintf("machine %d", w.n), data: w.t.TempDir(), left: left, before: before}
	server := httptest.NewServer(m.serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.servers[strings.TrimPrefix(r.URL.Path, "/")].ServeHTTP(rw, r)
	})))
	w.t.Cleanup(server.Close)
	return m, server.URL
}

func (w *world) open(m *machine, url, name string) (*lockedstate.Claimed, diag.List) {
	w.t.Helper()
	kind, config := "http", statehttp.Schema().EmptyValue().AsValueMap()
	if w.servers[name] == nil {
		kind, config = "local", local.Schema().EmptyValue().AsValueMap()
		config["path"] = cty.StringVal(filepath.Join(w.dir, name+".tfstate"))
	} else {
		for _, argument := range []string{"address", "lock_address", "unlock_address"} {
			config[argument] = cty.StringVal(url + "/" + name)
		}
		config["retry_max"] = cty.NumberIntVal(0)
	}
	b, diags := statebackend.Opener{Types: backends.All(), Getenv: func(string) string { return "" }, Dir: w.dir}.Open(kind, cty.ObjectVal(config), nil)
	if diags.HasErrors() {
		w.t.Fatal(diags)
	}
	s, diags := lockedstate.Open(b, "default", lockedstate.Options{
		Dir: m.data, DataDir: m.data, Program: "weir", Version: "1.12.0", Processes: m, Transfers: true,
		Notice: func(string) {}, Problem: func(diag.List) {},
	})
	if diags.HasErrors() {
		w.t.Fatal(diags)
	}
	c, diags := s.Lock(w.t.Context(), storage.Moves, lockedstate.Locking{})
	if c == nil {
		return nil, diags
	}
	return c, append(diags, s.Read(w.t.Context())...)
}

// both opens the two states; end is what the kernel does when a process ends.
func (w *world) both(m *machine, url string) (from, to *lockedstate.Claimed, end func(), ok bool) {
	var diags diag.List
	end = func() {
		for _, s := range []*lockedstate.Claimed{to, from} {
			if s != nil && (w.servers["to"] == nil && s == to || w.servers["from"] == nil && s == from || !m.died) {
				s.Unlock()
			}
		}
	}
	if from, diags = w.open(m, url, "from"); from == nil || diags.HasErrors() {
		return from, to, end, false
	}
	if to, diags = w.open(m, url, "to"); to == nil || diags.HasErrors() {
		return from, to, end, false
	}
	return from, to, end, true
}

// begin fills the states.
func (w *world) begin() []state.Move {
	w.t.Helper()
	m, url := w.machine(-1, false)
	from, to, end, ok := w.both(m, url)
	if !ok {
		w.t.Fatal("the states can't be opened")
	}
	defer end()
	first, second := state.Empty(), state.Empty()
	var moves []state.Move
	first.Objects[object("below")] = stored("below")
	for n := range count {
		name := fmt.Sprintf("o%d", n)
		needs := []string{"below"}
		if n > 0 {
			needs = []string{fmt.Sprintf("o%d", n-1)}
		}
		first.Objects[object(name)] = stored(name, needs...)
		moves = append(moves, state.Move{From: object(name), To: object("moved" + name)})
	}
	first.Objects[object("above")] = stored("above", "o49")
	second.Objects[object("other")] = stored("other")
	if err := from.Save(w.t.Context(), first); err != nil {
		w.t.Fatal(err)
	}
	if err := to.Save(w.t.Context(), second); err != nil {
		w.t.Fatal(err)
	}
	return moves
}

// run moves on a machine that may die.
func (w *world) run(m *machine, url string, moves []state.Move) (done bool) {
	from, to, end, ok := w.both(m, url)
	defer end()
	if !ok {
		return false
	}
	defer func() {
		if recover() != nil {
			m.died, done = true, false
		}
	}()
	return transfer.Run(w.t.Context(), transfer.End{State: from}, transfer.End{State: to}, moves, nil) == nil
}

// resume ends the move on a machine that may die, as seen from one of the states.
func (w *world) resume(m *machine, url string, fromSource bool) {
	w.t.Helper()
	from, to, end, ok := w.both(m, url)
	defer end()
	if !ok {
		if !m.died {
			w.t.Error("the states can't be opened")
		}
		return
	}
	here, there := to, from
	if fromSource {
		here, there = from, to
	}
	if here.Snapshot().Transfer == nil {
		return // this root has no reason to look further
	}
	if diags := transfer.Resume(w.t.Context(), transfer.End{State: here}, transfer.End{State: there}); diags.HasErrors() && !m.died {
		w.t.Error(diags)
	}
}

// check holds that each object is in exactly one state.
func (w *world) check(moves []state.Move, what string) {
	w.t.Helper()
	m, url := w.machine(-1, false)
	from, to, end, ok := w.both(m, url)
	defer end()
	if !ok {
		w.t.Fatalf("%s: the states can't be opened", what)
	}
	a, b := from.Snapshot(), to.Snapshot()
	there := 0
	for _, move := range moves {
		one, other := a.Objects[move.From] != nil, b.Objects[move.To] != nil
		if one == other {
			w.t.Errorf("%s: %s is in the source: %v, in the destination: %v", what, move.From, one, other)
		}
		if other {
			there++
		}
	}
	if there != 0 && there != len(moves) {
		w.t.Errorf("%s: %d of %d objects moved", what, there, len(moves))
	}
	if a.Transfer != nil || b.Transfer != nil {
		w.t.Errorf("%s: a record is left", what)
	}
	if a.Objects[object("below")] == nil || a.Objects[object("above")] == nil || b.Objects[object("other")] == nil || len(a.Objects)+len(b.Objects) != count+3 {
		w.t.Errorf("%s: other objects are gone", what)
	}
}

func newWorld(t *testing.T, from, to string) *world {
	w := &world{t: t, dir: t.TempDir(), servers: map[string]*testservers.HTTP{}}
	for name, kind := range map[string]string{"from": from, "to": to} {
		if kind == "http" {
			w.servers[name] = &testservers.HTTP{}
		}
	}
	return w
}

// TestKilled ends a move at each request and at each point between writes, and the run that ends it at
// each request too. The next run is on another machine, in either root.
func TestKilled(t *testing.T) {
	points := []string{"move: noted", "move: received", "move: sent", "move: done"}
	for _, kinds := range [][2]string{{"http", "http"}, {"local", "http"}, {"http", "local"}, {"local", "local"}} {
		t.Run(kinds[0]+" to "+kinds[1], func(t *testing.T) {
			defer func() { failpoint.Hit = nil }()
			for n := 0; ; n++ {
				what := fmt.Sprintf("killed at %d", n)
				w := newWorld(t, kinds[0], kinds[1])
				moves := w.begin()
				m, url := w.machine(-1, false)
				if n < len(points) {
					failpoint.Hit = func(at string) {
						if at == points[n] {
							panic(at)
						}
					}
				} else {
					m.left, m.before = (n-len(points))/2+1, n%2 == 0
				}
				done := w.run(m, url, moves)
				failpoint.Hit = nil
				if n >= len(points) && !m.died {
					if !done {
						t.Errorf("%s: the move failed", what)
					}
					w.check(moves, what)
					break
				}
				// Two more runs die, and the last one is in the root that knows the most.
				for k := range 2 {
					next, url := w.machine(1+(n+3*k)%9, n%3 == 0)
					w.resume(next, url, (n+k)%2 == 0)
				}
				for _, source := range []bool{n%2 == 0, n%2 != 0} {
					last, url := w.machine(-1, false)
					w.resume(last, url, source)
				}
				w.check(moves, what)
			}
		})
	}
}

// TestDependencies: objects that move depend on each other as before, and what stays depends on what
// they needed.
func TestDependencies(t *testing.T) {
	w := newWorld(t, "http", "http")
	moves := w.begin()[1:] // o0 stays
	m, url := w.machine(-1, false)
	if !w.run(m, url, moves) {
		t.Fatal("the move failed")
	}
	m, url = w.machine(-1, false)
	from, to, end, _ := w.both(m, url)
	defer end()
	needs := func(s *state.Snapshot, name string) string { return fmt.Sprint(s.Objects[object(name)].Dependencies) }
	for got, want := range map[string]string{
		needs(from.Snapshot(), "above"):     "[terraform_data.o0]",
		needs(to.Snapshot(), "movedo1"):     "[]",
		needs(to.Snapshot(), "movedo2"):     "[terraform_data.movedo1]",
		needs(from.Snapshot(), "o0"):        "[terraform_data.below]",
		needs(to.Snapshot(), "other") + ".": "[].",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestOtherEngine: OpenTofu writes one of the states before the move is ended, and loses the record.
// Objects that both states have leave the source all the same.
func TestOtherEngine(t *testing.T) {
	for _, wrote := range []string{"from", "to"} {
		w := newWorld(t, "http", "http")
		moves := w.begin()
		failpoint.Hit = func(at string) {
			if at == "move: received" {
				panic(at)
			}
		}
		m, url := w.machine(-1, false)
		w.run(m, url, moves)
		failpoint.Hit = nil
		server := w.servers[wrote]
		text := string(server.State())
		i := strings.LastIndex(text, `"transfer"`)
		if i < 0 {
			t.Fatalf("%s: no record:\n%s", wrote, text)
		}
		server.Put(strings.TrimRight(strings.TrimRight(text[:i], " \n"), ",") + "\n}\n")
		for _, source := range []bool{true, false} {
			last, url := w.machine(-1, false)
			w.resume(last, url, source)
		}
		w.check(moves, wrote)
	}
}

// TestStops: a run that doesn't end moves stops at one, and a run that only reads is warned.
func TestStops(t *testing.T) {
	w := newWorld(t, "http", "http")
	moves := w.begin()
	failpoint.Hit = func(at string) {
		if at == "move: received" {
			panic(at)
		}
	}
	m, url := w.machine(-1, false)
	w.run(m, url, moves)
	failpoint.Hit = nil
	for _, name := range []string{"from", "to"} {
		m, url := w.machine(-1, false)
		s, _ := w.open(m, url, name)
		s.Transfers = false
		if diags := s.Read(t.Context()); !diags.HasErrors() || !lockedstate.Unfinished.Is(diags[0]) {
			t.Errorf("%s: %v", name, diags)
		}
		s.Unlock()
		if diags := s.Read(t.Context()); diags.HasErrors() || len(diags) != 1 {
			t.Errorf("%s without a lock: %v", name, diags)
		}
	}
}

// TestCheck: nothing moves between copies of one state, or from none.
func TestCheck(t *testing.T) {
	w := newWorld(t, "http", "http")
	w.begin()
	w.servers["to"].Put(string(w.servers["from"].State()))
	m, url := w.machine(-1, false)
	from, to, end, _ := w.both(m, url)
	if diags := transfer.Check(from, to); !diags.HasErrors() || diags[0].Summary != "States of one lineage" || !edit.BadMove.Is(diags[0]) {
		t.Error(diags)
	}
	end()
	w.servers["from"] = &testservers.HTTP{}
	from, to, end, _ = w.both(m, url)
	defer end()
	if diags := transfer.Check(from, to); !diags.HasErrors() || diags[0].Summary != "No state to move from" {
		t.Error(diags)
	}
}

// TestGone: an object that somebody removed from the source before the move was ended moves
// nowhere, and the others do.
func TestGone(t *testing.T) {
	w := newWorld(t, "http", "http")
	moves := w.begin()
	failpoint.Hit = func(at string) {
		if at == "move: noted" {
			panic(at)
		}
	}
	m, url := w.machine(-1, false)
	w.run(m, url, moves)
	failpoint.Hit = nil
	m, url = w.machine(-1, false)
	from, _, end, _ := w.both(m, url)
	next := from.Snapshot().Clone()
	delete(next.Objects, moves[5].From)
	if err := from.Save(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	end()
	m, url = w.machine(-1, false)
	w.resume(m, url, true)
	from, to, end, _ := w.both(m, url)
	defer end()
	for n, move := range moves {
		if there := to.Snapshot().Objects[move.To] != nil; there != (n != 5) || from.Snapshot().Objects[move.From] != nil {
			t.Errorf("%s is in the destination: %v", move.From, there)
		}
	}
	if from.Snapshot().Transfer != nil || to.Snapshot().Transfer != nil {
		t.Error("a record is left")
	}
}
