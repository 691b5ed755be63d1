package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/module"
)

// A Grid is a configuration whose instances refer to single instances of other blocks, in
// both directions: blocks may go in circles, instances don't. It knows by itself what a
// plan of it has to do.
type Grid struct {
	Blocks []*Strip
	// Uses has for each instance those that it refers to.
	Uses map[Spot][]Spot
	// Value and Key are arguments of each instance; another Key replaces it.
	Value, Key map[Spot]int
	rank       map[Spot]int // instances refer to those with a lower rank only
	kit        bool         // for the provider of the conformance kit
}

// A Strip is a block of a Grid, or a call of a module with one resource.
type Strip struct {
	Label  string
	Module bool
	Count  bool // keys are numbers from 0
	Keys   []string
	First  bool // create_before_destroy
	// Parent: it refers to one instance by an argument that replaces, else to several
	// by one that updates.
	Parent bool
	// Over is the block that it is repeated over, empty for none: each instance refers to the one
	// with its key.
	Over  string
	Reads string // a data source for each instance: by reference, or by depends_on for the first one
}

// A Spot is an instance of a Strip.
type Spot struct{ Label, Key string }

func (s Spot) name() string { return s.Label + "-" + s.Key }

const gridKeys = 4

// GridCase draws a history of grids for the provider of the conformance kit, so that any engine
// can play it. In three of four, blocks form no circle.
func GridCase(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 11))
	g := newGrid(r, r.IntN(4) > 0)
	g.kit = true
	var c Case
	for n := range 2 + r.IntN(3) {
		if n > 0 {
			g = g.Edit(r)
		}
		step := Step{Text: g.Files()}
		if spots := g.Spots(); len(spots) > 0 {
			if r.IntN(4) == 0 {
				step.Fail = []string{[]string{"create ", "update ", "delete "}[r.IntN(3)] + spots[r.IntN(len(spots))].name()}
			}
			if r.IntN(6) == 0 {
				step.Drift = []string{"drop " + spots[r.IntN(len(spots))].name()}
			}
		}
		c = append(c, step)
	}
	if r.IntN(2) == 0 {
		c = append(c, Step{Text: g.Files(), Destroy: true})
	}
	return c
}

// NewGrid draws a grid, whose blocks may form circles.
func NewGrid(r *rand.Rand) *Grid { return newGrid(r, false) }

// newGrid draws a grid. Between blocks in a row references lead only to earlier ones.
func newGrid(r *rand.Rand, row bool) *Grid {
	g := &Grid{Uses: map[Spot][]Spot{}, Value: map[Spot]int{}, Key: map[Spot]int{}, rank: map[Spot]int{}}
	for n := range 2 + r.IntN(3) {
		b := &Strip{Label: fmt.Sprintf("b%d", n), Module: r.IntN(4) == 0, Count: r.IntN(2) == 0, First: r.IntN(3) == 0, Parent: r.IntN(2) == 0}
		b.Reads = []string{"", "", "reference", "depends_on"}[r.IntN(4)]
		if over := r.IntN(len(g.Blocks) + 1); r.IntN(3) == 0 && over < n && g.Blocks[over].Over == "" {
			b.Over, b.Count = g.Blocks[over].Label, g.Blocks[over].Count
		}
		g.Blocks = append(g.Blocks, b)
		g.scale(r, b)
	}
	ranks := r.Perm(len(g.Blocks) * gridKeys)
	if row {
		slices.Sort(ranks)
	}
	for n, b := range g.Blocks {
		for k := range gridKeys {
			g.rank[Spot{b.Label, b.key(k)}] = ranks[n*gridKeys+k]
		}
	}
	for _, b := range g.Blocks {
		for k := range gridKeys {
			from, to := Spot{b.Label, b.key(k)}, Spot{b.Over, b.key(k)}
			if b.Over == "" {
				continue
			}
			g.Uses[from] = []Spot{to}
			g.rank[from], g.rank[to] = max(g.rank[from], g.rank[to]), min(g.rank[from], g.rank[to])
		}
	}
	for range 3 + r.IntN(12) {
		g.refer(r)
	}
	g.first()
	return g
}

// Clone makes a copy that shares nothing.
func (g *Grid) Clone() *Grid {
	c := &Grid{Uses: map[Spot][]Spot{}, Value: map[Spot]int{}, Key: map[Spot]int{}, rank: g.rank, kit: g.kit}
	for _, b := range g.Blocks {
		copied := *b
		copied.Keys = slices.Clone(b.Keys)
		c.Blocks = append(c.Blocks, &copied)
	}
	for s, list := range g.Uses {
		c.Uses[s] = slices.Clone(list)
	}
	for s, n := range g.Value {
		c.Value[s] = n
	}
	for s, n := range g.Key {
		c.Key[s] = n
	}
	return c
}

func (b *Strip) key(n int) string {
	if b.Count {
		return fmt.Sprint(n)
	}
	return string(rune('a' + n))
}

func (g *Grid) block(label string) *Strip {
	n := slices.IndexFunc(g.Blocks, func(b *Strip) bool { return b.Label == label })
	return g.Blocks[n]
}

// Has reports whether the configuration has an instance.
func (g *Grid) Has(s Spot) bool { return slices.Contains(g.block(s.Label).Keys, s.Key) }

// Spots are all instances, those that others refer to first.
func (g *Grid) Spots() []Spot {
	var list []Spot
	for _, b := range g.Blocks {
		for _, k := range b.Keys {
			list = append(list, Spot{b.Label, k})
		}
	}
	slices.SortFunc(list, func(a, b Spot) int { return g.rank[a] - g.rank[b] })
	return list
}

// scale draws which instances a block has, and with it those that are repeated over it.
func (g *Grid) scale(r *rand.Rand, b *Strip) {
	if b.Over != "" {
		b.Keys = slices.Clone(g.block(b.Over).Keys)
		return
	}
	defer func() {
		for _, over := range g.Blocks {
			if over.Over == b.Label {
				over.Keys = slices.Clone(b.Keys)
			}
		}
	}()
	b.Keys = nil
	for k := range gridKeys {
		if b.Count && len(b.Keys) < k || r.IntN(4) == 0 {
			continue
		}
		b.Keys = append(b.Keys, b.key(k))
	}
}

// refer adds a reference from one instance to another, or takes one away.
func (g *Grid) refer(r *rand.Rand) {
	a, b := g.Blocks[r.IntN(len(g.Blocks))], g.Blocks[r.IntN(len(g.Blocks))]
	if a == b {
		return // OpenTofu rejects a block that refers to itself
	}
	from, to := Spot{a.Label, a.key(r.IntN(gridKeys))}, Spot{b.Label, b.key(r.IntN(gridKeys))}
	if g.rank[from] < g.rank[to] {
		from, to, a, b = to, from, b, a
	}
	if a.Over != "" {
		return
	}
	if n := slices.Index(g.Uses[from], to); n >= 0 {
		g.Uses[from] = slices.Delete(g.Uses[from], n, n+1)
		return
	}
	if !a.Parent {
		g.Uses[from] = append(g.Uses[from], to)
		return
	}
	// All instances refer to the same block.
	for k := range gridKeys {
		s := Spot{a.Label, a.key(k)}
		g.Uses[s] = slices.DeleteFunc(g.Uses[s], func(u Spot) bool { return u.Label != to.Label })
	}
	g.Uses[from] = []Spot{to}
}

// first makes blocks create_before_destroy that others refer to by what only updates: the
// cloud can't delete what such a user still has.
func (g *Grid) first() {
	for from, list := range g.Uses {
		for _, to := range list {
			if !g.block(from.Label).Parent {
				g.block(to.Label).First = true
			}
		}
	}
}

// Edit changes a grid at a few places.
func (g *Grid) Edit(r *rand.Rand) *Grid {
	c := g.Clone()
	for range 1 + r.IntN(3) {
		b := c.Blocks[r.IntN(len(c.Blocks))]
		s := Spot{b.Label, b.key(r.IntN(gridKeys))}
		switch r.IntN(6) {
		case 0:
			c.Value[s]++
		case 1, 2:
			c.Key[s]++
		case 3:
			c.scale(r, b)
		case 4:
			c.refer(r)
		case 5:
			b.First = !b.First
		}
	}
	c.first()
	return c
}

// used are the instances that an instance refers to and that there are.
func (g *Grid) used(s Spot) []Spot {
	return slices.DeleteFunc(slices.Clone(g.Uses[s]), func(to Spot) bool { return !g.Has(to) })
}

// Files are the text.
func (g *Grid) Files() module.Memory {
	var b strings.Builder
	if g.kit {
		b.WriteString(kitRequirement)
	}
	b.WriteString("provider \"sim\" {}\n")
	files := module.Memory{}
	for _, s := range g.Blocks {
		g.write(&b, s)
		if s.Module {
			requirement := ""
			if g.kit {
				requirement = kitRequirement + "\n"
			}
			files["m-"+s.Label+"/main.tf"] = []byte(requirement + "variable \"arg\" {}\n\nresource \"sim_object\" \"in\" {\n" + g.arguments("var.arg.name", "var.arg.value", "var.arg.key", "var.arg.refs", "var.arg.parent") + s.lifecycle() + "}\n\noutput \"id\" {\n  value = sim_object.in.id\n}\n")
		}
	}
	files["main.tf"] = []byte(b.String())
	return files
}

// arguments are those of an object. The kit's objects are replaced by one key, which has that
// of the parent.
func (g *Grid) arguments(name, value, key, refs, parent string) string {
	list := [][2]string{{"name", name}, {"value", value}, {"key", key}, {"refs", refs}, {"parent", parent}}
	if g.kit {
		list[2] = [2]string{"replace_key", fmt.Sprintf("join(\" \", compact([%s, %s]))", key, parent)}
		list = list[:4]
	}
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "  %s = %s\n", a[0], a[1])
	}
	return b.String()
}

func (b *Strip) lifecycle() string {
	if !b.First {
		return ""
	}
	return "  lifecycle {\n    create_before_destroy = true\n  }\n"
}

// ref is an expression for the id of an instance whose key is an expression.
func (b *Strip) ref(key string) string {
	if b.Module {
		return "module." + b.Label + "[" + key + "].id"
	}
	return "sim_object." + b.Label + "[" + key + "].id"
}

// over is the argument that repeats another block over this one.
func (b *Strip) over() string {
	all := "sim_object." + b.Label
	if b.Module {
		all = "module." + b.Label
	}
	if b.Count {
		return "  count = length(" + all + ")\n"
	}
	return "  for_each = " + all + "\n"
}

// at is the address of an instance.
func (b *Strip) at(key string) string {
	if !b.Count {
		key = fmt.Sprintf("%q", key)
	}
	if b.Module {
		return "module." + b.Label + "[" + key + "].sim_object.in"
	}
	return "sim_object." + b.Label + "[" + key + "]"
}

// table is a map of an expression by the keys of a block.
func (g *Grid) table(b *Strip, value func(Spot) string) string {
	var entries []string
	for k := range gridKeys {
		key := b.key(k)
		if v := value(Spot{b.Label, key}); v != "" {
			entries = append(entries, fmt.Sprintf("%q = %s", key, v))
		}
	}
	return "{ " + strings.Join(entries, ", ") + " }"
}

// write writes a block. Which instance refers to which is in tables of local values.
func (g *Grid) write(b *strings.Builder, s *Strip) {
	each, repeat := "each.key", "  for_each = toset(["
	again := "" // over the block itself
	if s.Over != "" {
		again = s.over()
		repeat = g.block(s.Over).over()
		if s.Count {
			each = "tostring(count.index)"
		}
	} else if s.Count {
		each, repeat = "tostring(count.index)", fmt.Sprintf("  count = %d\n", len(s.Keys))
	} else {
		for n, k := range s.Keys {
			if n > 0 {
				repeat += ", "
			}
			repeat += fmt.Sprintf("%q", k)
		}
		repeat += "])\n"
	}
	fmt.Fprintf(b, "\nlocals {\n  value_%s = %s\n  key_%[1]s = %[3]s\n", s.Label,
		g.table(s, func(at Spot) string { return fmt.Sprintf("\"v%d\"", g.Value[at]) }),
		g.table(s, func(at Spot) string { return fmt.Sprintf("\"k%d\"", g.Key[at]) }))
	var parts []string
	for _, to := range g.Blocks {
		for n := range gridKeys { // an instance may refer to several of one block
			any := false
			table := g.table(s, func(at Spot) string {
				uses := slices.DeleteFunc(slices.Clone(g.Uses[at]), func(u Spot) bool { return u.Label != to.Label })
				if n >= len(uses) {
					return ""
				}
				any = true
				if to.Count {
					return uses[n].Key
				}
				return fmt.Sprintf("%q", uses[n].Key)
			})
			if any {
				name := fmt.Sprintf("use_%s_%s_%d", s.Label, to.Label, n)
				fmt.Fprintf(b, "  %s = %s\n", name, table)
				parts = append(parts, to.ref("local."+name+"["+each+"]"))
			}
		}
	}
	b.WriteString("}\n")
	refs, parent := "null", "null"
	switch {
	case s.Over != "":
		id := "each.value.id"
		if s.Count {
			id = g.block(s.Over).ref("count.index")
		}
		if refs = "[" + id + "]"; s.Parent {
			parent = id
		}
		if s.Parent && !g.kit {
			refs = "null"
		}
	case len(parts) == 0:
	case s.Parent:
		parent = "try(" + parts[0] + ", null)"
		if g.kit {
			refs = "compact([" + parent + "])"
		}
	default:
		for n := range parts {
			parts[n] = "try([" + parts[n] + "], [])"
		}
		refs = "concat(" + strings.Join(parts, ", ") + ")"
	}
	if s.Module {
		fmt.Fprintf(b, "\nmodule %q {\n  source = \"./m-%[1]s\"\n%s  arg = {\n    name   = \"%[1]s-${%[3]s}\"\n    value  = local.value_%[1]s[%[3]s]\n    key    = local.key_%[1]s[%[3]s]\n    refs   = %s\n    parent = %s\n  }\n}\n", s.Label, repeat, each, refs, parent)
	} else {
		fmt.Fprintf(b, "\nresource \"sim_object\" %q {\n%s%s%s}\n", s.Label, repeat, g.arguments(fmt.Sprintf("\"%s-${%s}\"", s.Label, each), "local.value_"+s.Label+"["+each+"]", "local.key_"+s.Label+"["+each+"]", refs, parent), s.lifecycle())
	}
	switch {
	case s.Reads == "reference":
		key, lookup := "each.key", "sim_lookup"
		if s.Count {
			key = "count.index"
		}
		if g.kit {
			lookup = "sim_object"
		}
		if again == "" {
			again = repeat
		}
		fmt.Fprintf(b, "\ndata %q %q {\n%s  id = %s\n}\n", lookup, s.Label, again, s.ref(key))
	case s.Reads == "depends_on" && !s.Module && len(s.Keys) > 0:
		find, what := "sim_find", "name = \"nothing\""
		if g.kit {
			find, what = "sim_objects", "filter {\n    name_prefix = \"nothing\"\n  }"
		}
		fmt.Fprintf(b, "\ndata %q %q {\n  %s\n  depends_on = [%s]\n}\n", find, s.Label, what, s.at(s.Keys[0]))
	}
}
