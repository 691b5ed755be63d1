package graphview

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
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
		c, _ := fold(items, needs, "")
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
	c, _ := fold([]item{at("a", 1), at("b", 0), at("c", 0), at("d", 2)}, [][]int{{1}, {2}, {1, 3}, nil}, "")
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

// TestFormats holds the table of formats: each writes every kind of graph, and none as another
// format does. Anything that is missing for a new one is named here.
func TestFormats(t *testing.T) {
	v := &program.Variable{Name: "v"}
	a := &program.Resource{Name: addr.Name{Type: "sim_object", Name: "a"}, Config: &program.Body{Refs: []*program.Ref{{Kind: program.RefVariable, Variable: v}}}}
	tree := &program.Tree{Program: &program.Program{Variables: []*program.Variable{v}, Resources: []*program.Resource{a}}}
	object := addr.Object{Instance: addr.Resource{Name: a.Name}.Instance(addr.NoKey)}
	p := &plan.Plan{
		Changes: []*plan.Change{{Addr: object, Action: plan.Create}},
		Graph:   &execgraph.Graph{Steps: []execgraph.Step{{Kind: execgraph.Apply, Object: &object}}},
	}
	page, err := os.ReadFile("../../../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(io.Writer, Format) error{
		"a plan":                    func(w io.Writer, f Format) error { return Plan(w, f, p, edges.Without(p), false) },
		"a plan in full":            func(w io.Writer, f Format) error { return Plan(w, f, p, edges.Without(p), true) },
		"a configuration":           func(w io.Writer, f Format) error { return Configuration(w, f, tree, false, false) },
		"a configuration in full":   func(w io.Writer, f Format) error { return Configuration(w, f, tree, true, false) },
		"a summary of resources":    func(w io.Writer, f Format) error { return Configuration(w, f, tree, false, true) },
		"a configuration, as asked": func(w io.Writer, f Format) error { return Configuration(w, f, tree, true, true) },
	}
	for kind, write := range kinds {
		written := map[string]string{}
		for _, f := range Formats {
			var b strings.Builder
			if err := write(&b, f); err != nil {
				t.Errorf("%s as %s: %v", kind, f.Name, err)
			}
			text := b.String()
			if !strings.Contains(text, "sim_object.a") {
				t.Errorf("%s as %s doesn't have sim_object.a:\n%s", kind, f.Name, text)
			}
			if other, ok := written[text]; ok {
				t.Errorf("%s as %s is written as %s", kind, f.Name, other)
			}
			written[text] = f.Name
		}
	}
	for _, f := range Formats {
		if (f.language == nil) == (f.drawn == nil) {
			t.Errorf("%s has to have a language or to draw, and not both", f.Name)
		}
		if !strings.Contains(string(page), "`"+f.Name+"`") {
			t.Errorf("docs/reports.md doesn't name the format %s", f.Name)
		}
		if got, ok := FormatNamed(f.Name); !ok || got.Name != f.Name {
			t.Errorf("%s isn't found by its name", f.Name)
		}
	}
	if f, ok := FormatNamed(""); !ok || f.Name != "dot" {
		t.Errorf("the default format is %q", f.Name)
	}
	if _, ok := FormatNamed("nonsense"); ok {
		t.Error("a format called nonsense is found")
	}
}

// TestPatterns: thousands of blocks have a node for each pattern of their names, with counts,
// and a pattern of one block is that block.
func TestPatterns(t *testing.T) {
	at := func(module addr.Module, typ, name string) item {
		r := addr.Resource{Module: module, Name: addr.Name{Mode: addr.Managed, Type: typ, Name: name}}
		return item{r, r.String(), "resource", plan.Create, 1, true}
	}
	shown := func(items []item, needs [][]int) string {
		var list []string
		c, _ := fold(items, needs, "")
		for i, n := range c.Nodes {
			text := fmt.Sprintf("%s×%d", n.Address, n.Count)
			for _, to := range c.Needs[i] {
				text += ">" + c.Nodes[to].Address
			}
			list = append(list, text)
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	var items []item
	var needs [][]int
	for i := range 100 {
		items = append(items, at(addr.Root, "s3", fmt.Sprint("web", i)), at(addr.Root, "s3", fmt.Sprintf("db%d_disk", i)))
		needs = append(needs, nil, []int{2 * i})
	}
	items, needs = append(items, at(addr.Root, "s3", "log7")), append(needs, []int{0})
	if got := shown(items, needs); got != "s3.db*_disk×100>s3.web* s3.log7×1>s3.web* s3.web*×100" {
		t.Errorf("numbers fold to %s", got)
	}
	items, needs = nil, nil
	for i := range 300 {
		m := addr.Root.Child(addr.Mod(fmt.Sprint("app", i)), addr.NoKey)
		word := string(rune('a'+i/26%26)) + string(rune('a'+i%26))
		items = append(items, at(m, "s3", "b"+word), at(addr.Root, "s3", "web_"+word), at(addr.Root, "s3", "db-"+word))
		needs = append(needs, nil, []int{3 * i}, nil)
	}
	if got := shown(items, needs); got != "module.app*×300 s3.db*×300 s3.web*×300>module.app*" {
		t.Errorf("beginnings fold to %s", got)
	}
}
