package providerclient_test

import (
	"testing"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/testing/testkit"
)

const five = `
resource "sim_object" "a" {
  count = 5
  name  = "n${count.index}"
}
`

// TestTogether: a provider that takes batches is queried objects of a type together, but for
// the first of a kind of call, and where calls are to be made one by one.
func TestTogether(t *testing.T) {
	all := provider.Batches{Read: 10, Plan: 10, Apply: 10}
	for name, c := range map[string]struct {
		takes       provider.Batches
		parallelism int
		want        map[string]int
	}{
		"batches":     {all, 0, map[string]int{"PlanMany": 2, "ApplyMany": 1, "ReadMany": 1}},
		"none":        {provider.Batches{}, 0, nil},
		"changes":     {provider.Batches{Apply: 10}, 0, map[string]int{"ApplyMany": 1}},
		"of one":      {provider.Batches{Read: 1, Plan: 1, Apply: 1}, 0, nil},
		"one at once": {all, 1, nil},
	} {
		b := testkit.New(t)
		b.Batches = c.takes
		config, diags := b.Load(five)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		config.World.Parallelism = c.parallelism
		b.Reset()
		p, diags := engine.Plan(t.Context(), config, b.State, engine.PlanOptions{})
		if diags.HasErrors() {
			t.Fatal(name, diags)
		}
		for i := range p.Graph.Steps {
			if s := &p.Graph.Steps[i]; s.Object != nil && s.Object.Name.Type == "sim_object" && (s.Batch > 0) != (c.takes.Apply > 1) {
				t.Errorf("%s: %s is in batch %d", name, s.Label(), s.Batch)
			}
		}
		if b.State, diags = engine.Apply(t.Context(), config, p, apply.Options{}); diags.HasErrors() {
			t.Fatal(name, diags)
		}
		if b.Count("PlanMany") != c.want["PlanMany"] || b.Count("ApplyMany") != c.want["ApplyMany"] || b.Count("Apply") != 5 {
			t.Errorf("%s, changes: %s", name, b.Counts())
		}
		b.Reset()
		if _, diags = engine.Plan(t.Context(), config, b.State, engine.PlanOptions{}); diags.HasErrors() {
			t.Fatal(name, diags)
		}
		if b.Count("ReadMany") != c.want["ReadMany"] || b.Count("Read") != 5 {
			t.Errorf("%s, refresh: %s", name, b.Counts())
		}
	}
}
