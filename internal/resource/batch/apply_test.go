package batch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testing/testkit"
)

// A log is a journal that notes what it is reported, beside the calls of the provider.
type log struct {
	mu    sync.Mutex
	lines []string
	open  map[string]bool // intents without a result
	fail  string          // the object whose intent can't be journalled
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) Intent(i plan.Intent) error {
	if l.add("intent"); i.Object.String() == l.fail {
		return errors.New("no room")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[i.Object.String()] = true
	return nil
}

func (l *log) Result(o addr.Object, _ *state.Object) error {
	l.add("result")
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, o.String())
	return nil
}

func (l *log) ResultSoon(o addr.Object, stored *state.Object) error { return l.Result(o, stored) }

func (l *log) Unsure(o addr.Object) error                  { l.add("unsure %s", o); return nil }
func (*log) Moved(_, _ addr.Object, _ *state.Object) error { return nil }
func (*log) Invoke(string) error                           { return nil }
func (*log) Invoked(string) error                          { return nil }
func (*log) Output(string, *state.Output) error            { return nil }

// applied plans and applies, and keeps the state.
func applied(t *testing.T, b *testkit.Bench, text string, parallelism int, o apply.Options) (*plan.Plan, diag.List) {
	t.Helper()
	config, diags := b.Load(text)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	config.World.Parallelism = parallelism
	p, diags := engine.Plan(t.Context(), config, b.State, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	next, diags := engine.Apply(t.Context(), config, p, o)
	b.State = next
	return p, diags
}

func graph(p *plan.Plan) string {
	var b strings.Builder
	_ = p.Graph.Print(&b)
	return b.String()
}

const estate = `
resource "sim_object" "a" {
  count = 30
  name  = "n${count.index}"
  zone  = "%s"
}
resource "sim_object" "b" {
  count  = %d
  name   = "m${count.index}"
  parent = sim_object.a[count.index].id
}
`

func values(s *state.Snapshot) string {
	var lines []string
	for _, a := range s.Addresses() {
		var name string
		if text := string(s.Objects[a].JSON); strings.Contains(text, "\"name\"") {
			name = text[strings.Index(text, "\"name\""):]
			name, _, _ = strings.Cut(name, ",")
		}
		lines = append(lines, fmt.Sprintf("%s %s %v %v", a, name, s.Objects[a].Tainted, s.Objects[a].Dependencies))
	}
	return strings.Join(lines, "\n")
}

// TestChanges: creations, replacements and deletions in batches come to what they come to by
// themselves; the graph says which steps may go together.
func TestChanges(t *testing.T) {
	texts := []string{fmt.Sprintf(estate, "x", 20), fmt.Sprintf(estate, "y", 10), ""}
	for _, parallelism := range []int{0, 3} {
		alone, many := testkit.New(t), testkit.New(t)
		many.Batches = provider.Batches{Read: 8, Plan: 8, Apply: 8}
		for n, text := range texts {
			many.Reset()
			alonePlan, problems := applied(t, alone, text, 1, apply.Options{})
			p, diags := applied(t, many, text, parallelism, apply.Options{Journal: &log{open: map[string]bool{}}})
			if problems.HasErrors() || diags.HasErrors() {
				t.Fatal(problems, diags)
			}
			if testkit.Changes(alonePlan) != testkit.Changes(p) || values(alone.State) != values(many.State) {
				t.Errorf("round %d:\n%s\nby themselves:\n%s", n, values(many.State), values(alone.State))
			}
			if got := graph(p); !strings.Contains(got, "apply sim_object.a[3] after 0 in batch 1") && n == 0 || strings.Count(got, "in batch 1") == 0 || strings.Contains(graph(alonePlan), "batch") {
				t.Errorf("round %d: %s", n, got)
			}
			changes := many.Count("Apply")
			if calls := many.Count("ApplyMany"); calls < changes/16 || calls > changes/2 || changes == 0 {
				t.Errorf("round %d: %s", n, many.Counts())
			}
		}
	}
}

// TestEachIsNoted: every object of a batch is in the journal before the provider is asked, and
// in doubt by itself where there is no answer. One that can't be noted isn't asked for.
func TestEachIsNoted(t *testing.T) {
	for _, fail := range []string{"", "sim_object.a[4]"} {
		b := testkit.New(t)
		b.Batches = provider.Batches{Apply: 10}
		j := &log{open: map[string]bool{}, fail: fail}
		b.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
			if call != "ApplyMany" {
				return nil
			}
			j.add("call")
			return errors.New("no answer")
		}
		_, diags := applied(t, b, objects(10), 0, apply.Options{Journal: j})
		noted := strings.Join(j.lines, "\n")
		before, after, _ := strings.Cut(noted, "call\n")
		intents, doubts := strings.Count(before, "intent"), strings.Count(after, "unsure sim_object.a[")
		if fail != "" { // and others may not be started any more
			if strings.Contains(noted, "unsure "+fail) || j.open[fail] || !diags.HasErrors() {
				t.Errorf("%s\n%v", noted, diags)
			}
			continue
		}
		if intents != 10 || strings.Contains(after, "intent") || len(j.open) != 10 || doubts != 10 || len(b.State.Objects) > 0 {
			t.Errorf("%s\n%v\n%v", noted, diags, b.State.Addresses())
		}
	}
}

// TestOneChangeFails: the others of a batch are made.
func TestOneChangeFails(t *testing.T) {
	b := testkit.New(t)
	b.Batches = provider.Batches{Apply: 10}
	b.Before = func(_ context.Context, call, _ string, about cty.Value) error {
		if call == "Apply" && about.GetAttr("name").AsString() == "n4" {
			return errors.New("no cheese")
		}
		return nil
	}
	_, diags := applied(t, b, objects(10), 0, apply.Options{})
	if len(diags) != 1 || diags[0].Address != "sim_object.a[4]" || len(b.State.Objects) != 9 {
		t.Errorf("%v\n%v", diags, b.State.Addresses())
	}
}

// TestStopped: after a stop nothing is started that waits for others, or for its turn.
func TestStopped(t *testing.T) {
	b := testkit.New(t)
	b.Batches = provider.Batches{Apply: 4}
	j := &log{open: map[string]bool{}}
	stop := make(chan struct{})
	var once sync.Once
	b.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
		if call == "ApplyMany" {
			once.Do(func() { close(stop) })
			for !b.Stopped() {
				select {
				case <-t.Context().Done():
					return errors.New("it wasn't stopped")
				default:
				}
			}
		}
		return nil
	}
	_, diags := applied(t, b, objects(100), 2, apply.Options{Journal: j, Stop: stop})
	if n := strings.Count(strings.Join(j.lines, "\n"), "intent"); n != len(b.State.Objects) || n > 8 || n == 0 || !diags.HasErrors() {
		t.Errorf("%d intents, %d objects, %v", n, len(b.State.Objects), diags)
	}
}
