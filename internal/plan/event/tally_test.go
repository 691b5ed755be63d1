package event_test

import (
	"testing"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
)

// TestTally: what has provisioners has ended when these have, or when it failed itself.
func TestTally(t *testing.T) {
	type end struct {
		step execgraph.ID
		how  event.Ending
		want string // done, failed, skipped
	}
	for name, ends := range map[string][]end{
		"done":        {{0, event.Done, ""}, {1, event.Done, "done"}, {2, event.Done, "done"}},
		"failed":      {{0, event.Done, ""}, {1, event.Failed, "failed"}, {2, event.Skipped, "skipped"}},
		"not made":    {{0, event.Failed, "failed"}, {1, event.Skipped, ""}, {2, event.Skipped, "skipped"}},
		"not begun":   {{0, event.Skipped, "skipped"}, {1, event.Skipped, ""}, {2, event.Skipped, "skipped"}},
		"interrupted": {{0, event.Done, ""}, {1, event.Skipped, "done"}, {2, event.Skipped, "skipped"}},
	} {
		c := event.Tallied(&plan.Plan{Graph: &execgraph.Graph{Steps: []execgraph.Step{
			{Kind: execgraph.Apply}, {Kind: execgraph.Provision, Takes: []execgraph.ID{0}}, {Kind: execgraph.Apply}, {Kind: execgraph.Output},
		}}})
		if c.Total != 2 {
			t.Errorf("%d in all", c.Total)
		}
		sum := map[string]int{}
		for _, e := range ends {
			_, counted := c.End(e.step, e.how)
			if sum[e.want]++; counted != (e.want != "") || c.Done != sum["done"] || c.Failed != sum["failed"] || c.Skipped != sum["skipped"] {
				t.Errorf("%s: after step %d there are %d done, %d failed, %d skipped", name, e.step, c.Done, c.Failed, c.Skipped)
			}
		}
		if c.Ended() != 2 {
			t.Errorf("%s: %d ended", name, c.Ended())
		}
	}
}
