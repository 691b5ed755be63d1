package planner

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
)

type named string

func (n named) String() string { return string(n) }

// The dependencies of a shared cell are computed once, for all readers.
func TestSearchIsLinear(t *testing.T) {
	const n = 50
	cells := make([]promise.Cell[int], n)
	var shared promise.Cell[int]
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		shared.Get(t, named("shared"), nil, func(t *promise.Task) (int, bool) {
			for k := range cells {
				i := &eval.Instance{Addr: addr.Instance{Resource: addr.Resource{Name: addr.Name{Mode: addr.Managed}}, Key: addr.IntKey(k)}}
				cells[k].Get(t, i, nil, func(*promise.Task) (int, bool) { return k, true })
			}
			return 0, true
		})
	})
	asked := 0
	last := addr.IntKey(n - 1)
	for _, wanted := range []bool{false, true} {
		asked = 0
		s := newSearch(func(i addr.Instance) bool {
			asked++
			return wanted && i.Key == last
		})
		for range 3 {
			if got := s.reaches([]*promise.Node{&shared.Node}); got != wanted {
				t.Errorf("reached: %v, want %v", got, wanted)
			}
		}
		if asked != n {
			t.Errorf("%d instances were looked at, want each of %d once", asked, n)
		}
	}
}
