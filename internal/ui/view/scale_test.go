package view

import (
	"bytes"
	"fmt"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonplan"
)

// BenchmarkPlan shows what a change costs; it should cost the same however
// many there are.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		p := &plan.Plan{Schemas: schemas}
		for i := range n {
			p.Changes = append(p.Changes, change(b, fmt.Sprintf("module.m[%d].sim_object.a[%d]", i%10, i), plan.Update, full(), with(full(), values{"name": later()})))
		}
		b.Run(fmt.Sprintf("text/%d", n), func(b *testing.B) {
			for b.Loop() {
				var out bytes.Buffer
				if err := Plan(&out, p, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/change")
		})
		b.Run(fmt.Sprintf("json/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := jsonplan.Marshal(p, nil, nil, dialect.OpenTofu); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/change")
		})
	}
}
