package chart

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/word/addr"
)

// made are blocks in modules, of which some only connect others.
func made(r *rand.Rand, n int) ([]item, [][]int) {
	actions := []plan.Action{plan.Create, plan.Update, plan.Delete, plan.NoOp}
	items, needs := make([]item, n), make([][]int, n)
	for i := range items {
		m := addr.Root
		for range r.IntN(4) {
			m = m.Child(addr.Mod(fmt.Sprint("m", r.IntN(3))), addr.NoKey)
		}
		name := addr.Resource{Module: m, Name: addr.Name{Mode: addr.Managed, Type: fmt.Sprint("t", r.IntN(5)), Name: fmt.Sprint("n", i)}}
		items[i] = item{name, name.String(), "resource", actions[r.IntN(len(actions))], r.IntN(3), true}
		for range r.IntN(3) {
			needs[i] = append(needs[i], r.IntN(n)) // circles among them
		}
	}
	return items, needs
}

// TestFold: a folded graph has all objects and each of their actions once, few nodes where
// modules allow it, and a way wherever something shown leads to another thing shown, be it
// by what isn't shown.
func TestFold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		items, needs := made(r, r.IntN(300))
		c := fold(items, needs, "")
		want, got := 0, 0
		actions, folded := map[string]int{}, map[string]int{}
		for _, it := range items {
			want += it.count
			actions[it.action.String()] += it.count
		}
		for i, n := range c.Nodes {
			got += n.Count
			if n.Actions == nil {
				folded[n.Action] += n.Count
			}
			for a, count := range n.Actions {
				folded[a] += count
			}
			for _, to := range c.Needs[i] {
				if to == i {
					t.Errorf("%s needs itself", n.Address)
				}
			}
		}
		if got != want {
			t.Errorf("%d objects of %d", got, want)
		}
		for a, n := range actions {
			if folded[a] != n {
				t.Errorf("%s: %d of %d", a, folded[a], n)
			}
		}
		if len(c.Nodes) > most {
			t.Errorf("%d nodes", len(c.Nodes))
		}
	}
}

// TestThrough: what isn't shown still connects what is.
func TestThrough(t *testing.T) {
	at := func(name string, count int) item {
		r := addr.Resource{Name: addr.Name{Mode: addr.Managed, Type: "t", Name: name}}
		return item{r, r.String(), "resource", plan.Create, count, true}
	}
	c := fold([]item{at("a", 1), at("b", 0), at("c", 0), at("d", 2)}, [][]int{{1}, {2}, {1, 3}, nil}, "")
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"format_version":"1.0","nodes":[{"address":"t.a","kind":"resource","action":"create","count":1},{"address":"t.d","kind":"resource","action":"create","count":2}],"edges":[{"from":"t.a","to":"t.d"}]}`
	if string(text) != want || !json.Valid(text) {
		t.Errorf("%s", text)
	}
	empty, err := new(Chart).JSON()
	if err != nil || string(empty) != `{"format_version":"1.0","nodes":[],"edges":[]}` {
		t.Errorf("%s %v", empty, err)
	}
}

// TestNearest: the items that others lead to are those that plain walks find, circles and all,
// and a chain that only connects is passed at once.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		items, needs := made(r, 1+r.IntN(40))
		for from, got := range nearest(items, needs) {
			if items[from].count == 0 {
				continue
			}
			want, seen := 0, map[int]bool{from: true}
			for todo := slices.Clone(needs[from]); len(todo) > 0; {
				n := todo[0]
				todo = todo[1:]
				if seen[n] {
					continue
				}
				if seen[n] = true; items[n].count == 0 {
					todo = append(todo, needs[n]...)
				} else if want++; !slices.Contains(got, n) {
					t.Fatalf("%d doesn't lead to %d: %v in %v", from, n, got, needs)
				}
			}
			if len(got) != want {
				t.Fatalf("%d leads to %v, not to %d", from, got, want)
			}
		}
	}
	const long = 1000
	items, needs := make([]item, long), make([][]int, long)
	for i := 1; i < long; i++ {
		needs[i] = []int{i - 1}
	}
	if stands := shortcuts(items, needs); stands[long-1] != nowhere {
		t.Errorf("a chain to nothing stands for %d", stands[long-1])
	}
	items[0].count = 1
	if stands := shortcuts(items, needs); stands[long-1] != 0 {
		t.Errorf("a chain stands for %d rather than its end", stands[long-1])
	}
}
