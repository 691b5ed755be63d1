package steptimes

import (
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state"
)

func object(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

// TestTimes: what is recorded of an apply is the same after it was kept, belongs to one plan
// alone, and reports what each step waited for.
func TestTimes(t *testing.T) {
	a, b, c := object(t, "sim.a"), object(t, "sim.b"), object(t, "sim.c")
	p := &plan.Plan{Previous: &state.Snapshot{Lineage: "l", Serial: 3}, Graph: &execgraph.Graph{Steps: []execgraph.Step{
		{Kind: execgraph.OpenProvider, Provider: &addr.ProviderConfig{}}, {Kind: execgraph.Apply, Object: &a, After: []execgraph.ID{0}}, {Kind: execgraph.Destroy, Object: &b, After: []execgraph.ID{0}},
		{Kind: execgraph.Apply, Object: &c, After: []execgraph.ID{1, 2}}, {Kind: execgraph.Apply, Object: &b, After: []execgraph.ID{3}},
	}}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := Record(func() time.Time { return now })
	handed := 0
	sink := r.Over(func(event.Event) { handed++ })
	tell := func(after time.Duration, e event.Event) {
		now = now.Add(after)
		sink(e)
	}
	sink(event.Event{Kind: event.ApplyStart, Addr: a, Action: plan.Create}) // of no apply
	if r.Times() != nil {
		t.Error("times of nothing")
	}
	tell(0, event.Event{Kind: event.ApplyBegin, Plan: p})
	tell(time.Second, event.Event{Kind: event.StepEnd, Step: 0})
	tell(time.Second, event.Event{Kind: event.ApplyStart, Step: 1, Addr: a, Action: plan.Create})
	tell(time.Second, event.Event{Kind: event.ApplyStart, Step: 2, Addr: b, Action: plan.Delete})
	tell(time.Second, event.Event{Kind: event.StepEnd, Step: 1})
	tell(time.Second, event.Event{Kind: event.StepEnd, Step: 2})
	tell(time.Second, event.Event{Kind: event.StepEnd, Step: 3, Ending: event.Failed})
	if handed != 8 {
		t.Errorf("%d events were handed on", handed)
	}
	text := r.Times().Text(p)
	got := Read(text, p)
	if got == nil || !got.At.Equal(r.Times().At) || len(got.Steps) != 5 {
		t.Fatalf("%s is read as %+v", text, got)
	}
	for i, s := range got.Steps {
		if s != r.Times().Steps[i] {
			t.Errorf("step %d: %+v rather than %+v", i, s, r.Times().Steps[i])
		}
	}
	began, last := got.Began(p.Graph)
	for id, want := range []struct {
		began time.Duration
		last  execgraph.ID
		ran   bool
	}{{0, -1, true}, {2 * time.Second, 0, true}, {3 * time.Second, 0, true}, {5 * time.Second, 2, true}, {0, 3, false}} {
		if began[id] != want.began || last[id] != want.last || got.Steps[id].Ran() != want.ran {
			t.Errorf("step %d began after %s, after step %d", id, began[id], last[id])
		}
	}
	other := *p
	other.Previous = &state.Snapshot{Lineage: "l", Serial: 4}
	for _, of := range []*plan.Plan{&other, {Graph: &execgraph.Graph{Steps: p.Graph.Steps[:3]}}, {}} {
		if Read(text, of) != nil {
			t.Error("the times are taken for those of another plan")
		}
	}
	for _, bad := range []string{"", "x", `{"version":2}`, string(text[:20])} {
		if Read([]byte(bad), p) != nil {
			t.Errorf("%s is read", bad)
		}
	}
}
