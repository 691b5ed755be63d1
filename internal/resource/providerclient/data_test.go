package providerclient_test

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/testing/testkit"
)

const lookups = `
data "sim_lookup" "a" {
  count = 20
  key   = "k${count.index % 4}"
}
data "sim_lookup" "b" {
  key = "k0"
}
data "sim_lookup" "c" {
  provider = sim.other
  key      = "k0"
}
provider "sim" {
  alias  = "other"
  region = "elsewhere"
}
`

func looked(t *testing.T, b *testkit.Bench, parallelism int) (p *plan.Plan, diags diag.List, counts map[string]int64) {
	t.Helper()
	config, diags := b.Load(lookups)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	config.World.Parallelism = parallelism
	b.Reset()
	counts = metrics.Count(func() { p, diags = engine.Plan(t.Context(), config, b.State, engine.PlanOptions{}) })
	return p, diags, counts
}

// TestEqualDataIsReadOnce: data sources of a type with equal arguments are read by one call
// of each provider configuration, and have its problems each.
func TestEqualDataIsReadOnce(t *testing.T) {
	for _, parallelism := range []int{0, 1} {
		b := testkit.New(t)
		p, diags, counts := looked(t, b, parallelism)
		if diags.HasErrors() || b.Count("ReadData") != 5 || counts["shared"] != 17 || p == nil {
			t.Errorf("%s, %d shared, %v", b.Counts(), counts["shared"], diags)
		}
		for i := range 20 {
			key := fmt.Sprintf("sim_lookup.a[%d]", i)
			found := ""
			for a, o := range p.Refreshed.Objects {
				if a.Instance.String() == "data."+key {
					found = string(o.JSON)
				}
			}
			if !strings.Contains(found, fmt.Sprintf(`"k%d"`, i%4)) {
				t.Errorf("%s has %s", key, found)
			}
		}
		b.DataSources["sim_lookup"].ReadData = func(r provider.ReadDataRequest) provider.ReadDataResponse {
			return provider.ReadDataResponse{Diags: provider.Reported.List("no cheese")}
		}
		_, diags, _ = looked(t, b, parallelism)
		addresses := map[string]bool{}
		for _, d := range diags {
			addresses[d.Address] = true
		}
		if len(diags) != 22 || len(addresses) != 22 || b.Count("ReadData") != 5 {
			t.Errorf("%d problems of %d data sources, %s", len(diags), len(addresses), b.Counts())
		}
	}
}
