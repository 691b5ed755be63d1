package apply

import (
	"slices"
	"sort"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan/execgraph"
)

// givers are the steps that give instances their values, in the order of these instances: a
// map by addresses would take twenty times as much.
type givers struct {
	steps []execgraph.Step
	ids   []execgraph.ID
}

func giversIn(steps []execgraph.Step) givers {
	g := givers{steps: steps}
	for id := range steps {
		if steps[id].Kind.Gives() {
			g.ids = append(g.ids, execgraph.ID(id))
		}
	}
	slices.SortStableFunc(g.ids, func(a, b execgraph.ID) int { return compare(&steps[a].Object.Instance, &steps[b].Object.Instance) })
	return g
}

// of is the step that gives an instance its value: the last one of several.
func (g givers) of(i *addr.Instance) (execgraph.ID, bool) {
	n := sort.Search(len(g.ids), func(n int) bool { return compare(&g.steps[g.ids[n]].Object.Instance, i) > 0 }) - 1
	if n < 0 || g.steps[g.ids[n]].Object.Instance != *i {
		return 0, false
	}
	return g.ids[n], true
}

// compare orders instances in some way, faster than people would.
func compare(a, b *addr.Instance) int {
	if c := strings.Compare(string(a.Module), string(b.Module)); c != 0 {
		return c
	}
	if c := a.Name.Compare(b.Name); c != 0 {
		return c
	}
	return a.Key.Compare(b.Key)
}
