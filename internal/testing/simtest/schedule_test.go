package simtest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// TestSchedules applies the same plan one step at a time in many orders that the graph allows:
// all give the same result, and no step reads a value that isn't there yet.
func TestSchedules(t *testing.T) {
	before := "module m count=2; module n; p endpoint; a count=3; b in=m all=a; c in=n refs=b; d parent=c; e other from=d; f cbd refs=d; g length=a from=e; x; y refs=x"
	tests := []struct{ name, before, after string }{
		{"create", "", before},
		{"nothing", before, before},
		{"change", before, "module m count=2; module n; p endpoint value=1; a count=2 cbd key=1; b in=m all=a value=1; c in=n refs=b key=1; q lookup=c; d parent=c; e other from=d value=1; f cbd refs=d key=1; g length=a from=e; y"},
		{"remove", before, "p endpoint value=1; a count=3 value=1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := NewWorld()
			step(t, w, test.before, "")
			c := load(t, test.after)
			p, diags := w.Plan(c, engine.PlanOptions{})
			if diags.HasErrors() {
				t.Fatal(problems(diags))
			}
			want := w.Clone()
			if more := want.Apply(c, p, How{Parallelism: 10}); more.HasErrors() {
				t.Fatalf("%s%s", problems(more), printed(p))
			}
			for schedule := range uint64(60) {
				r := rand.New(rand.NewPCG(schedule, 4))
				got := w.Clone()
				more := got.Apply(c, p, How{Parallelism: 1, Choose: func(ready []execgraph.ID) int {
					switch schedule {
					case 0:
						return 0
					case 1:
						return len(ready) - 1 // what became ready last
					}
					return r.IntN(len(ready))
				}})
				if more.HasErrors() || !sameWorld(got, want) {
					t.Fatalf("schedule %d: %s%s%s", schedule, problems(more), difference(want.String(), got.String()), printed(p))
				}
			}
		})
	}
}

// TestReadTooEarly applies a graph that lacks an edge, as only a bug could make it: that is
// reported, nothing is lost, and the next run continues from there.
func TestReadTooEarly(t *testing.T) {
	w := NewWorld()
	c := load(t, "a; b refs=a; c")
	p, diags := w.Plan(c, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(problems(diags))
	}
	graph := &execgraph.Graph{Steps: slices.Clone(p.Graph.Steps)}
	early := execgraph.ID(-1)
	for id, s := range graph.Steps {
		if s.Kind == execgraph.Apply && s.Object.Name.Name == "b" {
			graph.Steps[id].After, early = nil, execgraph.ID(id)
		}
	}
	broken := *p
	broken.Graph = graph
	diags = w.Apply(c, &broken, How{Choose: func(ready []execgraph.ID) int { return max(slices.Index(ready, early), 0) }})
	i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Summary == "Bug in weir" })
	if i < 0 || diags[i].Severity != diag.Error || !strings.Contains(diags[i].Detail, "sim_object.a") {
		t.Fatalf("no bug is told: %s", problems(diags))
	}
	if got := strings.Join(w.Cloud.IDs(), " "); got != "a#1 c#1" || len(w.State.Objects) != 2 {
		t.Errorf("there is %s\n%s", got, w)
	}
	step(t, w, "a; b refs=a; c", "")
	if got := strings.Join(w.Cloud.IDs(), " "); got != "a#1 b#1 c#1" {
		t.Errorf("then there is %s", got)
	}
}

// TestTargetOneOfMany targets one instance that refers to its counterpart: one
// instance of each is touched, whatever there is beside them.
func TestTargetOneOfMany(t *testing.T) {
	configuration := "bar count=50; foo count=50 refs=bar"
	target := func(t *testing.T, w *World, text string) *plan.Plan {
		t.Helper()
		one, err := addr.ParseTarget("sim_object.foo[1]")
		if err != nil {
			t.Fatal(err)
		}
		c := load(t, text)
		p, diags := w.Plan(c, engine.PlanOptions{Targets: []addr.Target{one}})
		if diags.HasErrors() {
			t.Fatal(problems(diags))
		}
		var got []string
		for _, change := range p.Changes {
			got = append(got, change.Addr.String())
		}
		if strings.Join(got, " ") != "sim_object.bar[1] sim_object.foo[1]" {
			t.Errorf("planned %v", got)
		}
		// Each block is validated once, and each of the two instances.
		for call, want := range map[string]int{"Plan": 2, "ValidateResource": 4} {
			if n := w.Calls.Count(call); n != want {
				t.Errorf("%s was called %d times", call, n)
			}
		}
		w.Cloud.Log()
		if more := w.Apply(c, p, How{Parallelism: 10}); more.HasErrors() {
			t.Fatal(problems(more))
		}
		return p
	}
	w := NewWorld()
	target(t, w, configuration)
	if got := strings.Join(w.Cloud.IDs(), " "); got != "bar-1#1 foo-1#1" {
		t.Errorf("there is %s", got)
	}
	step(t, w, configuration, "")
	target(t, w, "bar count=50 value=1; foo count=50 value=1 refs=bar")
	if got := w.Cloud.Log(); len(got) != 2 || got[0].String() != "update bar-1#1" || got[1].String() != "update foo-1#1" {
		t.Errorf("was done: %v", got)
	}
	if n := w.Calls.Count("Apply"); n != 2 {
		t.Errorf("Apply was called %d times", n)
	}
}
