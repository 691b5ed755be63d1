// Package metamorphic compares every way to make a run faster with the plain one. Over random
// histories of edits, outside changes, failures, plans and applies, all of them give the same
// plans, problems and states.
package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/provider/providerpool"
	"weir.dev/weir/internal/resource/listrefresh"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testing/testkit"
)

// A way is how a history is gone through.
type way struct {
	name        string
	parallelism int
	lists, auto bool
	warm        bool // programs and providers go on from one step to the next
	batches     provider.Batches
}

var ways = []way{
	{name: "one by one", parallelism: 1},
	{name: "many at once"},
	{name: "lists", lists: true},
	{name: "batches", batches: provider.Batches{Read: 100, Plan: 100, Apply: 100}},
	{name: "small batches, few at once", parallelism: 3, batches: provider.Batches{Read: 2, Plan: 3, Apply: 2}},
	{name: "what is due", auto: true},
	{name: "warm", warm: true},
	{name: "all of it", lists: true, auto: true, warm: true, batches: provider.Batches{Read: 4, Plan: 5, Apply: 6}},
}

// refreshAfter is the age from which objects are due.
const refreshAfter = 15 * time.Minute

// A world is a way with its own cloud and state.
type world struct {
	way
	*testkit.Bench
	t      *testing.T
	record []byte
	calls  int64
	keeper *providerpool.Keeper // nil unless warm

	mu      sync.Mutex
	objects map[string]cty.Value // existing objects, by id
	made    map[string]int       // by name
	failing string               // the call and the name for which it fails
}

func newWorld(t *testing.T, w way) *world {
	c := &world{way: w, Bench: testkit.New(t), t: t, objects: map[string]cty.Value{}, made: map[string]int{}}
	c.Provider.Batches = w.batches
	if w.warm {
		c.Programs, c.keeper = new(engine.Programs), providerpool.New(fake.Catalog{testkit.Sim: c.Provider}, 0)
	}
	typ := c.Resources["sim_object"]
	typ.Schema.Identity = &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Required: true}}}
	typ.Apply = c.change
	typ.Read = c.read
	list := fake.NewType("prefix string")
	list.List = c.list
	c.Lists["sim_object"] = list
	c.Before = func(_ context.Context, call, _ string, about cty.Value) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if (call == "Apply" || call == "Read") && !about.IsNull() && c.failing == call+" "+about.GetAttr("name").AsString() {
			return errors.New("no cheese")
		}
		return nil
	}
	return c
}

func identity(id string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)})
}

// change makes what is requested. The cloud's id of an object follows from its name
// and how often there was one, not from the order in which objects are made.
func (c *world) change(r provider.ApplyRequest) provider.ApplyResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.Resources["sim_object"].DefaultApply(r, func() int {
		name := r.Planned.GetAttr("name").AsString()
		c.made[name]++
		h := fnv.New32a()
		fmt.Fprintf(h, "%s %d", name, c.made[name])
		return int(h.Sum32())
	})
	if !r.Prior.IsNull() && out.New.IsNull() {
		delete(c.objects, r.Prior.GetAttr("id").AsString())
	} else if !out.New.IsNull() {
		id := out.New.GetAttr("id").AsString()
		c.objects[id], out.Identity = out.New, identity(id)
	}
	return out
}

func (c *world) read(r provider.ReadRequest) provider.ReadResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.objects[r.Current.GetAttr("id").AsString()]
	if !ok {
		v = cty.NullVal(r.Current.Type())
	}
	return provider.ReadResponse{New: v, Private: r.Private, Identity: r.Identity}
}

func (c *world) list(r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.objects)) {
		if c.failing == "Read "+c.objects[id].GetAttr("name").AsString() {
			continue
		}
		if !found(provider.ListResult{Name: id, Identity: identity(id), Object: c.objects[id]}) {
			break
		}
	}
	return nil
}

// step plans, and applies the plan if that is wanted. The result is all that comes of it.
func (c *world) step(text string, now time.Time, o engine.PlanOptions, apply bool) string {
	c.t.Helper()
	config, diags := c.Load(text)
	if diags.HasErrors() {
		c.t.Fatal(diags, text)
	}
	if c.warm {
		guest := c.keeper.Enter(func(addr.Provider) bool { return false })
		defer guest.Leave()
		config.World.Catalog = guest
	}
	config.World.Parallelism = c.parallelism
	config.World.Now = func() time.Time { return now }
	if c.lists {
		config.World.Lists = listrefresh.Trust{{Provider: testkit.Sim, Type: "sim_object"}: 1}
	}
	if c.auto {
		o.Looks = freshness.Auto(freshness.Parse(c.record), func(addr.Provider, string) time.Duration { return refreshAfter })
	}
	var b strings.Builder
	counts := metrics.Count(func() {
		p, diags := engine.Plan(c.t.Context(), config, c.State, o)
		if c.auto {
			if record, _ := o.Looks.Record(p.Previous); record != nil {
				c.record = record.Text()
			}
		}
		tell(&b, p, diags)
		if apply && !diags.HasErrors() {
			c.record = freshness.Without(c.record, p)
			next, diags := engine.Apply(c.t.Context(), config, p, engine.ApplyOptions{})
			c.State = next.Clone()
			c.State.Lineage = "lineage"
			b.WriteString("applied\n")
			problems(&b, diags)
			objects(&b, c.State)
		}
	})
	c.calls += counts["calls"]
	return b.String()
}

// tell is all that a plan says.
func tell(b *strings.Builder, p *plan.Plan, diags diag.List) {
	problems(b, diags)
	for _, list := range [][]*plan.Change{p.Changes, p.Drift} {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b *plan.Change) int { return a.Addr.Compare(b.Addr) })
		for _, c := range list {
			fmt.Fprintf(b, "%s %s %s %v %#v -> %#v\n", c.Action, c.Addr, c.Reason, c.ReplacePaths, c.Before, c.After)
		}
		b.WriteString("--\n")
	}
	for _, o := range p.Outputs {
		fmt.Fprintf(b, "%s %#v\n", o.Name, o.After)
	}
	if p.Refreshed != nil {
		objects(b, p.Refreshed)
	}
}

// problems are those of a run, in no order.
func problems(b *strings.Builder, diags diag.List) {
	var lines []string
	for _, d := range diags {
		lines = append(lines, fmt.Sprintf("%s %s %s %s\n", d.Severity, d.Address, d.Summary, d.Detail))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func objects(b *strings.Builder, s *state.Snapshot) {
	for _, a := range s.Addresses() {
		o := s.Objects[a]
		fmt.Fprintf(b, "%s %s %s %q %v %v\n", a, o.JSON, o.IdentityJSON, o.Private, o.Tainted, o.Dependencies)
	}
}

// An estate is a configuration that is edited at random.
type estate struct {
	r      *rand.Rand
	blocks []block
	number int
}

type block struct {
	label       string
	count       int
	version     int
	zone        string
	refers      string
	createFirst bool
	lookup      bool
	was         string // its label before
}

func (e *estate) edit() {
	for range 1 + e.r.IntN(3) {
		n := len(e.blocks)
		switch what := e.r.IntN(8); {
		case n < 2 || what == 0 && n < 6:
			e.number++
			e.blocks = append(e.blocks, e.change(block{label: fmt.Sprintf("r%d", e.number)}, n))
		case what == 1:
			e.blocks = e.blocks[:n-1]
		case what == 2 && e.blocks[n-1].was == "": // nothing refers to the last
			e.number++
			last := &e.blocks[n-1]
			last.label, last.was = fmt.Sprintf("r%d", e.number), last.label
		case what < 6:
			i := e.r.IntN(n)
			e.blocks[i] = e.change(e.blocks[i], i)
		}
	}
}

// change changes the n-th block, which may refer to earlier ones.
func (e *estate) change(b block, n int) block {
	switch e.r.IntN(4) {
	case 0:
		b.version++
	case 1:
		b.zone = []string{"", "x", "y"}[e.r.IntN(3)]
	case 2:
		b.createFirst = !b.createFirst
	}
	b.count = e.r.IntN(7)
	b.lookup = e.r.IntN(3) == 0
	if b.refers = ""; n > 0 && e.r.IntN(3) > 0 {
		b.refers = fmt.Sprintf("try(sim_object.%s[%s].%s, \"none\")", e.blocks[e.r.IntN(n)].label,
			[]string{"count.index", "0"}[e.r.IntN(2)], []string{"id", "name", "size", "zone"}[e.r.IntN(4)])
	}
	return b
}

// name is that of an object which the configuration may have, after the call that fails.
func (e *estate) name(call string) string {
	b := e.blocks[e.r.IntN(len(e.blocks))]
	return fmt.Sprintf("%s %s-v%d-%d", call, b.label, b.version, e.r.IntN(max(1, b.count)))
}

func (e *estate) text() string {
	text := ""
	for _, b := range e.blocks {
		text += fmt.Sprintf("resource \"sim_object\" %q {\n  count = %d\n  name  = \"%s-v%d-${count.index}\"\n", b.label, b.count, b.label, b.version)
		if b.zone != "" {
			text += fmt.Sprintf("  zone = %q\n", b.zone)
		}
		if b.refers != "" {
			text += "  parent = " + b.refers + "\n"
		}
		if b.lookup {
			text += "  secret = data.sim_lookup." + b.label + "[0].found\n"
		}
		if b.createFirst {
			text += "  lifecycle {\n    create_before_destroy = true\n  }\n"
		}
		text += "}\n"
		if b.lookup {
			text += fmt.Sprintf("data \"sim_lookup\" %q {\n  count = 3\n  key   = \"k\"\n}\n", b.label)
		}
		if b.was != "" {
			text += fmt.Sprintf("moved {\n  from = sim_object.%s\n  to   = sim_object.%s\n}\n", b.was, b.label)
		}
	}
	return text + "output \"all\" {\n  value = [" + func() string {
		var all []string
		for _, b := range e.blocks {
			all = append(all, "sim_object."+b.label+"[*].size")
		}
		return strings.Join(all, ", ")
	}() + "]\n}\n"
}

// outside has somebody else change or delete an object, in all worlds alike.
func outside(r *rand.Rand, worlds []*world) {
	ids := slices.Sorted(maps.Keys(worlds[0].objects))
	if len(ids) == 0 {
		return
	}
	id, gone, zone := ids[r.IntN(len(ids))], r.IntN(2) == 0, cty.StringVal(fmt.Sprint("z", r.IntN(3)))
	for _, w := range worlds {
		if gone {
			delete(w.objects, id)
			continue
		}
		values := w.objects[id].AsValueMap()
		values["zone"] = zone
		w.objects[id] = cty.ObjectVal(values)
	}
}

// taint has somebody taint an object, in all worlds alike.
func taint(r *rand.Rand, worlds []*world) {
	if worlds[0].State == nil || len(worlds[0].State.Objects) == 0 {
		return
	}
	all := worlds[0].State.Addresses()
	at := all[r.IntN(len(all))]
	for _, w := range worlds {
		s := w.State.Clone()
		if o := s.Objects[at]; o != nil && at.Name.Mode == addr.Managed {
			tainted := *o
			tainted.Tainted = true
			s.Objects[at] = &tainted
		}
		w.State = s
	}
}

// TestSame: whichever way a history is gone through, all gives the same result, and the fast
// ways ask for less.
func TestSame(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	total, failures := map[string]int64{}, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		var worlds []*world
		for _, w := range ways {
			worlds = append(worlds, newWorld(t, w))
		}
		e := &estate{r: r}
		now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		for n := range 10 {
			e.edit()
			now = now.Add(time.Duration(r.IntN(9)) * time.Minute)
			failing := ""
			switch r.IntN(5) {
			case 0:
				outside(r, worlds)
				now = now.Add(refreshAfter) // what changes outside is seen when it is due
			case 1:
				taint(r, worlds)
			case 2:
				failing = e.name([]string{"Apply", "Apply", "Read"}[r.IntN(3)])
				now = now.Add(refreshAfter) // and so is what can't be read
			}
			o := engine.PlanOptions{Mode: []plan.Mode{plan.Normal, plan.Normal, plan.Normal, plan.Normal, plan.RefreshOnly, plan.Destroy}[r.IntN(6)]}
			apply, text, first := r.IntN(4) > 0, e.text(), ""
			for i, w := range worlds {
				w.failing = failing
				got := w.step(text, now, o, apply)
				if i == 0 {
					first = got
					if strings.Contains(got, "no cheese") {
						failures++
					}
				} else if got != first {
					t.Fatalf("seed %d, step %d (%v, failing %q):\n%s\n%s:\n%s\n%s:\n%s", seed, n, o.Mode, failing, text, w.name, got, ways[0].name, first)
				}
			}
		}
		for _, w := range worlds {
			total[w.name] += w.calls
			if w.Running() > 0 != w.warm {
				t.Errorf("%s: %d processes go on", w.name, w.Running())
			}
		}
	}
	t.Log(total, failures)
	if failures < int(seeds)/3 {
		t.Errorf("only %d failures", failures)
	}
	for _, w := range ways[2:] {
		if w.name != "warm" && total[w.name] >= total[ways[0].name] {
			t.Errorf("%s: %d calls, as many as %d one by one", w.name, total[w.name], total[ways[0].name])
		}
	}
}
