package listrefresh_test

import (
	"fmt"
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
	"weir.dev/weir/internal/resource/listrefresh"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testing/testkit"
)

// A cloud has objects of the type sim_object, and lists them in pages.
type cloud struct {
	*testkit.Bench
	mu      sync.Mutex
	objects map[string]cty.Value // by id
	// told are what a list reports objects, in order; nil for all of them as they are.
	told  []provider.ListResult
	ends  diag.List // what the list ends with
	pages int       // that were asked for
}

const page = 100 // objects

func identity(id string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)})
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{Bench: testkit.New(t), objects: map[string]cty.Value{}}
	typ := c.Resources["sim_object"]
	typ.Schema.Identity = &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Required: true}}}
	number := 0
	typ.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
		c.mu.Lock()
		defer c.mu.Unlock()
		out := typ.DefaultApply(r, func() int { number++; return number })
		if !out.New.IsNull() {
			id := out.New.GetAttr("id").AsString()
			c.objects[id], out.Identity = out.New, identity(id)
		}
		return out
	}
	typ.Read = func(r provider.ReadRequest) provider.ReadResponse {
		c.mu.Lock()
		defer c.mu.Unlock()
		v, ok := c.objects[r.Current.GetAttr("id").AsString()]
		if !ok {
			v = cty.NullVal(r.Current.Type())
		}
		return provider.ReadResponse{New: v, Private: r.Private, Identity: r.Identity}
	}
	list := fake.NewType("prefix string")
	list.List = func(r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
		c.mu.Lock()
		defer c.mu.Unlock()
		told := c.told
		if told == nil {
			told = c.results()
		}
		for n, result := range told {
			if n%page == 0 {
				c.pages++
			}
			if !r.Objects {
				result.Object = cty.NilVal
			}
			if int64(n) >= r.Limit || !found(result) {
				return nil
			}
		}
		return c.ends
	}
	c.Lists["sim_object"] = list
	return c
}

// results are the objects as a good list reports them.
func (c *cloud) results() []provider.ListResult {
	var out []provider.ListResult
	for _, id := range slices.Sorted(maps.Keys(c.objects)) {
		out = append(out, provider.ListResult{Name: id, Identity: identity(id), Object: c.objects[id]})
	}
	return out
}

func objects(n int) string {
	return fmt.Sprintf("resource \"sim_object\" \"a\" {\n  count = %d\n  name  = \"n${count.index}\"\n}\n", n)
}

// plan plans with lists of the type that are asked for so many objects; 0 is for none.
func (c *cloud) plan(t *testing.T, text string, least, parallelism int, o engine.PlanOptions) (*plan.Plan, diag.List) {
	t.Helper()
	config, diags := c.Load(text)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	config.World.Parallelism = parallelism
	if least > 0 {
		config.World.Lists = listrefresh.Trust{{Provider: testkit.Sim, Type: "sim_object"}: least}
	}
	c.Reset()
	c.pages = 0
	return engine.Plan(t.Context(), config, c.State, o)
}

func applied(t *testing.T, n int) *cloud {
	c := newCloud(t)
	if diags := c.Apply(objects(n), engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

// shown is all that a plan says of objects and the state.
func shown(p *plan.Plan) string {
	if p == nil {
		return "no plan"
	}
	var b strings.Builder
	change := func(what string, c *plan.Change) {
		fmt.Fprintf(&b, "%s %s %s %#v -> %#v\n", what, c.Action, c.Addr, c.Before, c.After)
	}
	for _, c := range p.Changes {
		change("change", c)
	}
	drift := slices.Clone(p.Drift)
	slices.SortFunc(drift, func(a, b *plan.Change) int { return a.Addr.Compare(b.Addr) })
	for _, c := range drift {
		change("drift", c)
	}
	for _, a := range p.Refreshed.Addresses() {
		o := p.Refreshed.Objects[a]
		fmt.Fprintf(&b, "%s %s %s %q %v\n", a, o.JSON, o.IdentityJSON, o.Private, o.Tainted)
	}
	return b.String()
}

// TestManyObjectsTakeFewCalls: 5,000 objects are inspected with one list of 50 pages, and
// those that differ are read by themselves.
func TestManyObjectsTakeFewCalls(t *testing.T) {
	c := applied(t, 5000)
	counts := metrics.Count(func() {
		p, diags := c.plan(t, objects(5000), 10, 0, engine.PlanOptions{})
		if len(diags) > 0 || testkit.Changes(p) != "" || len(p.Drift) > 0 {
			t.Errorf("%v\n%s", diags, testkit.Changes(p))
		}
	})
	if calls := c.pages + c.Count("Read"); calls > 60 || c.Count("List") != 1 || counts["lists"] != 1 || counts["listed"] != 5000 {
		t.Errorf("%d pages in %s; %v", c.pages, c.Counts(), counts)
	}
	for id, v := range c.objects {
		switch v.GetAttr("name").AsString() {
		case "n16":
			delete(c.objects, id)
		case "n17":
			c.objects[id] = changed(v)
		}
	}
	p, diags := c.plan(t, objects(5000), 10, 0, engine.PlanOptions{})
	if got, want := testkit.Changes(p), "create sim_object.a[16]\nupdate sim_object.a[17]"; got != want || len(diags) > 0 || len(p.Drift) != 2 {
		t.Errorf("got %s, %v", got, diags)
	}
	if got := c.Count("Read"); got != 2 || c.Count("List") != 1 {
		t.Errorf("%s", c.Counts())
	}
}

func changed(v cty.Value) cty.Value {
	values := v.AsValueMap()
	values["name"] = cty.StringVal("somebody else's")
	return cty.ObjectVal(values)
}

// TestWithoutList: where a list isn't trusted, doesn't pay or wouldn't tell, none exists.
func TestWithoutList(t *testing.T) {
	c := applied(t, 20)
	for name, test := range map[string]struct {
		least       int
		options     engine.PlanOptions
		lists, read int
	}{
		"trusted":                {20, engine.PlanOptions{}, 1, 0},
		"no setting":             {0, engine.PlanOptions{}, 0, 20},
		"too few":                {21, engine.PlanOptions{}, 0, 20},
		"without refresh":        {1, engine.PlanOptions{SkipRefresh: true}, 0, 0},
		"to destroy":             {1, engine.PlanOptions{Mode: plan.Destroy}, 1, 0},
		"to refresh":             {1, engine.PlanOptions{Mode: plan.RefreshOnly}, 1, 0},
		"only what is to change": {1, engine.PlanOptions{Looks: freshness.Minimal()}, 0, 0},
	} {
		if _, diags := c.plan(t, objects(20), test.least, 3, test.options); len(diags) > 0 || c.Count("List") != test.lists || c.Count("Read") != test.read {
			t.Errorf("%s: %s, %v", name, c.Counts(), diags)
		}
	}
	tainted := c.State.Clone()
	for a, o := range tainted.Objects {
		if strings.HasSuffix(a.String(), "[7]") {
			o := *o
			o.Tainted = true
			tainted.Objects[a] = &o
		}
	}
	c.State = tainted
	if _, diags := c.plan(t, objects(20), 1, 3, engine.PlanOptions{}); len(diags) > 0 || c.Count("List") != 1 || c.Count("Read") != 1 {
		t.Errorf("tainted: %s, %v", c.Counts(), diags)
	}
}

// TestListOfWhatIsDue: where only what is old is inspected, a list is requested when enough
// is, and what it has reported of isn't old.
func TestListOfWhatIsDue(t *testing.T) {
	c := applied(t, 20)
	c.State = c.State.Clone()
	c.State.Lineage = "lineage"
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	var record []byte
	for n, test := range []struct {
		after       time.Duration
		lists, read int
	}{{0, 1, 0}, {time.Minute, 0, 0}, {time.Hour, 1, 0}, {time.Minute, 0, 0}} {
		now = now.Add(test.after)
		config, diags := c.Load(objects(20))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		at := now
		config.World.Now = func() time.Time { return at }
		config.World.Lists = listrefresh.Trust{{Provider: testkit.Sim, Type: "sim_object"}: 20}
		l := freshness.Auto(freshness.Parse(record), func(addr.Provider, string) time.Duration { return time.Hour })
		c.Reset()
		p, diags := engine.Plan(t.Context(), config, c.State, engine.PlanOptions{Looks: l})
		if written, _ := l.Record(p.Previous); written != nil {
			record = written.Text()
		}
		if diags.HasErrors() || testkit.Changes(p) != "" || c.Count("List") != test.lists || c.Count("Read") != test.read {
			t.Errorf("%d: %s, %v", n, c.Counts(), diags)
		}
	}
}

// TestListIsAskedAgain: a list that is rejected because there were too many calls begins
// again.
func TestListIsAskedAgain(t *testing.T) {
	c := applied(t, 20)
	good := c.Lists["sim_object"].List
	times := 0
	c.Lists["sim_object"].List = func(r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
		if times++; times > 1 {
			return good(r, found)
		}
		found(c.results()[0])
		return provider.Reported.As("ThrottlingException: Rate exceeded").List("Slow down.")
	}
	if _, diags := c.plan(t, objects(20), 1, 3, engine.PlanOptions{}); len(diags) > 0 || times != 2 || c.Count("Read") != 0 {
		t.Errorf("%d lists, %s, %v", times, c.Counts(), diags)
	}
}

// TestUselessLists: what a list can't be used for is reported once, and everything is read.
func TestUselessLists(t *testing.T) {
	for want, spoil := range map[string]func(*cloud){
		"the provider has no list of these objects":      func(c *cloud) { delete(c.Lists, "sim_object") },
		"without arguments":                              func(c *cloud) { c.Lists["sim_object"].Schema = fake.NewType("prefix string required").Schema },
		"the list failed: List sim_object: out of order": func(c *cloud) { c.Fail("List", "sim_object", "out of order") },
		"an object has no identity":                      func(c *cloud) { c.told = []provider.ListResult{{Name: "a"}} },
		"an object has an identity that doesn't fit":     func(c *cloud) { c.told = []provider.ListResult{{Identity: cty.EmptyObjectVal}} },
		"the list failed: at the end":                    func(c *cloud) { c.ends = provider.Reported.List("at the end") },
	} {
		c := applied(t, 20)
		spoil(c)
		p, diags := c.plan(t, objects(20), 1, 3, engine.PlanOptions{})
		if len(diags) != 1 || diags.HasErrors() || diags[0].Code != listrefresh.NoList.Name || !strings.Contains(diags[0].Detail, want) || c.Count("Read") != 20 || testkit.Changes(p) != "" {
			t.Errorf("%s: %s, %v", want, c.Counts(), diags)
		}
	}
}

// TestSameResult: whatever became of objects, and whatever the list reports them, a plan is
// the same with the list and without it.
func TestSameResult(t *testing.T) {
	base := applied(t, 25)
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newCloud(t)
		c.objects, c.State = maps.Clone(base.objects), drift(r, base.State)
		for _, id := range slices.Sorted(maps.Keys(c.objects)) {
			switch r.IntN(6) {
			case 0:
				delete(c.objects, id)
			case 1:
				c.objects[id] = changed(c.objects[id])
			}
		}
		c.told, c.ends = tell(r, c.results())
		text := objects(20 + r.IntN(10))
		parallelism := []int{0, 1, 4}[r.IntN(3)]
		mode := []plan.Mode{plan.Normal, plan.Normal, plan.RefreshOnly, plan.Destroy}[r.IntN(4)]
		want, before := c.plan(t, text, 0, parallelism, engine.PlanOptions{Mode: mode})
		got, after := c.plan(t, text, 1, parallelism, engine.PlanOptions{Mode: mode})
		after = slices.DeleteFunc(after, func(d diag.Diagnostic) bool { return d.Code == listrefresh.NoList.Name })
		if shown(got) != shown(want) || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Fatalf("seed %d\n%s%v\nwithout a list\n%s%v", seed, shown(got), after, shown(want), before)
		}
		if c.Count("List") != 1 {
			t.Fatalf("seed %d: %s", seed, c.Counts())
		}
	}
}

// drift makes objects of a state such as have no identity, are tainted, or share one.
func drift(r *rand.Rand, s *state.Snapshot) *state.Snapshot {
	s = s.Clone()
	var last *state.Object
	for _, a := range s.Addresses() {
		o := *s.Objects[a]
		switch r.IntN(10) {
		case 0:
			o.IdentityJSON = nil
		case 1:
			o.Tainted = true
		case 2:
			if last != nil {
				o = *last
			}
		}
		last = &o
		s.Objects[a] = &o
	}
	return s
}

// tell is a list that may be out of order, leave out, repeat, tell otherwise or fail.
func tell(r *rand.Rand, all []provider.ListResult) ([]provider.ListResult, diag.List) {
	told := []provider.ListResult{}
	for _, result := range all {
		switch r.IntN(12) {
		case 0:
			continue
		case 1:
			told = append(told, result)
		case 2:
			told = append(told, provider.ListResult{Identity: result.Identity, Object: changed(result.Object)})
		case 3:
			result.Object = changed(result.Object)
		case 4:
			result.Object = cty.NilVal
		case 5:
			result.Object = cty.NullVal(result.Object.Type())
		case 6:
			result.Object = cty.EmptyObjectVal
		case 7:
			result.Diags = provider.Reported.List("not this one")
		}
		told = append(told, result)
	}
	r.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
	switch r.IntN(8) {
	case 0:
		told = append(told[:len(told)/2], provider.ListResult{Diags: provider.Reported.List("no further")})
	case 1:
		return told, provider.Reported.List("at the end")
	}
	return told, nil
}
