package freshness_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testing/testkit"
)

// A desk is where a configuration is worked on for a while.
type desk struct {
	*testkit.Bench
	t      *testing.T
	now    time.Time
	record []byte
	age    time.Duration
	region string
	added  int // records that were added to
}

func newDesk(t *testing.T) *desk {
	d := &desk{Bench: testkit.New(t), t: t, now: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), age: 15 * time.Minute, region: "north"}
	d.Config = fake.NewType("region string", "token string sensitive")
	return d
}

func (d *desk) after(_ addr.Provider, typ string) time.Duration {
	if typ == "sim_brief" {
		return 0
	}
	return d.age
}

// load loads a configuration at this moment.
func (d *desk) load(text string) *engine.Config {
	d.t.Helper()
	c, diags := d.Load(fmt.Sprintf("provider \"sim\" {\n  region = %q\n  token  = %q\n}\n", d.region, d.now) + text)
	if diags.HasErrors() {
		d.t.Fatal(diags)
	}
	now := d.now
	c.World.Now = func() time.Time { return now }
	return c
}

// plan plans as -refresh=auto does, and keeps the record; full plans as without it.
func (d *desk) plan(text string, o engine.PlanOptions) (*engine.Config, *plan.Plan, diag.List) {
	d.t.Helper()
	o.Looks = freshness.Auto(freshness.Parse(d.record), d.after)
	c := d.load(text)
	d.Reset()
	p, diags := engine.Plan(d.t.Context(), c, d.State, o)
	if record, added := o.Looks.Record(p.Previous); record != nil {
		if d.record = record.Text(); added != nil {
			d.added++
			if !bytes.HasSuffix(d.record, added) || bytes.Equal(d.record, added) {
				d.t.Fatalf("%q is added to %q", added, d.record)
			}
		}
	}
	return c, p, diags
}

func (d *desk) full(text string, o engine.PlanOptions) (*plan.Plan, diag.List) {
	d.t.Helper()
	return engine.Plan(d.t.Context(), d.load(text), d.State, o)
}

func (d *desk) apply(c *engine.Config, p *plan.Plan) {
	d.t.Helper()
	next, diags := engine.Apply(d.t.Context(), c, p, engine.ApplyOptions{})
	if diags.HasErrors() {
		d.t.Fatal(diags)
	}
	d.State = next.Clone()
	d.State.Lineage = "lineage" // as the caller that stores it gives it
}

const three = `
resource "sim_object" "a" {
  name = "a"
}
resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.size
}
resource "sim_object" "c" {
  name   = "c"
  parent = sim_object.b.parent
}
`

// working has three objects that were inspected just now.
func working(t *testing.T) *desk {
	d := newDesk(t)
	c, p, _ := d.plan(three, engine.PlanOptions{})
	d.apply(c, p)
	d.plan(three, engine.PlanOptions{})
	if d.Count("Read") != 3 {
		t.Fatalf("after an apply: %s", d.Counts())
	}
	return d
}

// TestLeavesOut: what was inspected is left out for a while, unless there is a reason to look.
func TestLeavesOut(t *testing.T) {
	name := func(to string) string {
		return strings.Replace(three, `"b"
  parent`, to+"\n  parent", 1)
	}
	for what, test := range map[string]struct {
		text    string
		before  func(d *desk)
		options engine.PlanOptions
		reads   int
		left    int
	}{
		"nothing is different":   {reads: 0, left: 3},
		"in time":                {before: func(d *desk) { d.now = d.now.Add(15*time.Minute - 1) }, left: 3},
		"too late":               {before: func(d *desk) { d.now = d.now.Add(15 * time.Minute) }, reads: 3},
		"a clock that went back": {before: func(d *desk) { d.now = d.now.Add(-time.Second) }, reads: 3},
		"no time":                {before: func(d *desk) { d.age = 0 }, reads: 3},
		"its configuration":      {text: name(`"new"`), reads: 1, left: 2},
		"it is replaced":         {options: engine.PlanOptions{Replace: []addr.Instance{instance(t, "sim_object.b")}}, reads: 1, left: 2},
		"it is targeted":         {options: engine.PlanOptions{Targets: []addr.Target{target(t, "sim_object.b")}}, reads: 1, left: 1},
		"it is in doubt":         {options: engine.PlanOptions{InDoubt: []addr.Instance{instance(t, "sim_object.b")}}, reads: 1, left: 2},
		"it goes":                {text: three[:strings.Index(three, "resource \"sim_object\" \"c\"")], reads: 1, left: 2},
		"it has moved": {text: strings.Replace(three, `"sim_object" "c"`, `"sim_object" "d"`, 1) + "moved {\n  from = sim_object.c\n  to = sim_object.d\n}\n",
			reads: 1, left: 2},
		"everything goes":            {options: engine.PlanOptions{Mode: plan.Destroy}, reads: 3},
		"only looking":               {options: engine.PlanOptions{Mode: plan.RefreshOnly}, left: 3},
		"another provider's region":  {before: func(d *desk) { d.region = "south" }, reads: 3},
		"another token":              {before: func(d *desk) { d.now = d.now.Add(time.Second) }, left: 3}, // it is the time
		"the state was changed":      {before: func(d *desk) { d.change("sim_object.b", `"name":"b"`, `"name":"x"`) }, reads: 1, left: 2},
		"it is tainted":              {before: func(d *desk) { d.taint("sim_object.b") }, reads: 1, left: 2},
		"another state":              {before: func(d *desk) { s := *d.State; s.Lineage += "x"; d.State = &s }, reads: 3},
		"a state without a lineage":  {before: func(d *desk) { s := *d.State; s.Lineage = ""; d.State = &s }, reads: 3},
		"no record":                  {before: func(d *desk) { d.record = nil }, reads: 3},
		"half a record":              {before: func(d *desk) { d.record = d.record[:len(d.record)/2] }, reads: 3},
		"a record of another form":   {before: func(d *desk) { d.record = bytes.Replace(d.record, []byte(`n":1`), []byte(`n":2`), 1) }, reads: 3},
		"a record of something else": {before: func(d *desk) { d.record = bytes.ReplaceAll(d.record, []byte("object."), []byte("thing.")) }, reads: 3},
		"nonsense":                   {before: func(d *desk) { d.record = []byte(`{"version":1,"looks":[{"at":"soon"}]}`) }, reads: 3},
	} {
		d := working(t)
		if test.before != nil {
			test.before(d)
		}
		if test.text == "" {
			test.text = three
		}
		_, p, diags := d.plan(test.text, test.options)
		left := 0
		if p.LeftOut != nil {
			left = p.LeftOut.Objects
		}
		if d.Count("Read") != test.reads || left != test.left || diags.HasErrors() {
			t.Errorf("%s: %s, %d left out, %v\n%s", what, d.Counts(), left, diags, d.record)
		}
	}
}

func instance(t *testing.T, text string) addr.Instance {
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func target(t *testing.T, text string) addr.Target {
	i, err := addr.ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// edit changes what the state has of an object.
func (d *desk) edit(text string, change func(*state.Object)) {
	s := d.State.Clone()
	at := addr.Object{Instance: instance(d.t, text)}
	o := *s.Objects[at]
	change(&o)
	s.Objects[at], d.State = &o, s
}

func (d *desk) change(text, from, to string) {
	d.edit(text, func(o *state.Object) { o.JSON = bytes.Replace(o.JSON, []byte(from), []byte(to), 1) })
}

func (d *desk) taint(text string) { d.edit(text, func(o *state.Object) { o.Tainted = true }) }

// TestDriftIsSeenLater: what changed outside is seen when an object is inspected again, and
// one that depends on it then changes.
func TestDriftIsSeenLater(t *testing.T) {
	d := working(t)
	at := addr.Object{Instance: instance(t, "sim_object.a")}
	v := cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal("a"), "zone": cty.NullVal(cty.String), "parent": cty.NullVal(cty.String), "secret": cty.NullVal(cty.String),
		"size": cty.NumberIntVal(77), "id": cty.StringVal("id-1"),
	})
	if !bytes.Contains(d.State.Objects[at].JSON, []byte(`"id-1"`)) {
		t.Fatalf("%s", d.State.Objects[at].JSON)
	}
	d.SetRemote("id-1", v)
	d.now = d.now.Add(time.Minute)
	_, p, _ := d.plan(three, engine.PlanOptions{})
	if testkit.Changes(p) != "" || len(p.Drift) != 0 || p.LeftOut.Say(p.Timestamp, 0) != "3 objects weren't read again: they were within the last minute, and nothing is to be done with them (-refresh=auto)." {
		t.Errorf("%s %+v", testkit.Changes(p), p.LeftOut)
	}
	d.now = d.now.Add(14 * time.Minute)
	for range 2 { // the state doesn't have it yet, so it is inspected each time
		_, p, _ = d.plan(three, engine.PlanOptions{})
		if got := testkit.Changes(p); got != "update sim_object.b\nupdate sim_object.c" || len(p.Drift) != 1 {
			t.Errorf("%s", got)
		}
	}
	if d.Count("Read") != 3 { // those that change, and the drift
		t.Errorf("%s", d.Counts())
	}
	c, p, _ := d.plan(three, engine.PlanOptions{})
	d.apply(c, p)
	if _, p, _ = d.plan(three, engine.PlanOptions{}); testkit.Changes(p) != "" || d.Count("Read") != 2 || p.LeftOut.Objects != 1 {
		t.Errorf("%s %s", testkit.Changes(p), d.Counts())
	}
}

// TestUnchanged: an object is unchanged if a plan from before a time found it as it is now.
func TestUnchanged(t *testing.T) {
	d := working(t)
	at := func(text string) addr.Object { return addr.Object{Instance: instance(t, text)} }
	d.SetRemote("id-1", cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal("a"), "zone": cty.NullVal(cty.String), "parent": cty.NullVal(cty.String), "secret": cty.NullVal(cty.String),
		"size": cty.NumberIntVal(77), "id": cty.StringVal("id-1"),
	}))
	recorded := d.now
	d.now = d.now.Add(time.Hour)
	looks := freshness.Kept(freshness.Parse(d.record))
	if _, diags := d.full(three, engine.PlanOptions{Looks: looks}); diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, c := range []struct {
		at    string
		until time.Time
		want  bool
	}{
		{"sim_object.c", recorded, true}, {"sim_object.c", d.now, true}, {"sim_object.c", recorded.Add(-1), false},
		{"sim_object.a", d.now, false}, // it changed
		{"sim_object.other", d.now, false},
	} {
		if got := looks.Unchanged(at(c.at), c.until); got != c.want {
			t.Errorf("%s until %s: %t", c.at, c.until, got)
		}
	}
	if (*freshness.Looks)(nil).Unchanged(at("sim_object.c"), d.now) || freshness.Minimal().Unchanged(at("sim_object.c"), d.now) {
		t.Error("without a record nothing is known to be unchanged")
	}
}

// TestKept: a plan that looks at everything keeps a record that is there, and begins none.
func TestKept(t *testing.T) {
	if freshness.Kept(nil) != nil {
		t.Error("there is a record where nobody wants one")
	}
	d := working(t)
	d.now = d.now.Add(time.Hour)
	kept := freshness.Kept(freshness.Parse(d.record))
	p, _ := d.full(three, engine.PlanOptions{Looks: kept})
	known, _ := kept.Record(p.Previous)
	if d.record = known.Text(); p.LeftOut != nil || len(d.record) == 0 {
		t.Fatalf("%+v", p.LeftOut)
	}
	if _, p, _ = d.plan(three, engine.PlanOptions{}); d.Count("Read") != 0 || p.LeftOut.Objects != 3 {
		t.Errorf("%s", d.Counts())
	}
	// Anything that nothing was learned about isn't written again.
	l := freshness.Auto(freshness.Parse(d.record), d.after)
	if p, _ = d.full(three, engine.PlanOptions{Looks: l}); isWritten(l, p) {
		t.Error("it is written again")
	}
}

func isWritten(l *freshness.Looks, p *plan.Plan) bool {
	k, _ := l.Record(p.Previous)
	return k != nil
}

// TestForgottenChanges: what an apply was to change is inspected although the state has it as
// before, because the change failed half way.
func TestForgottenChanges(t *testing.T) {
	d := working(t)
	c, p, _ := d.plan(strings.Replace(three, `name = "a"`, `name = "new"`, 1), engine.PlanOptions{})
	d.record = freshness.Without(d.record, p)
	d.Fail("Apply", "sim_object", "out of order")
	next, diags := engine.Apply(t.Context(), c, p, engine.ApplyOptions{})
	if !diags.HasErrors() {
		t.Fatal("nothing has failed")
	}
	d.State = next.Clone()
	d.State.Lineage = "lineage"
	if _, p, _ = d.plan(three, engine.PlanOptions{}); testkit.Changes(p) != "" || d.Count("Read") != 1 || p.LeftOut.Objects != 2 {
		t.Errorf("%s, %s", testkit.Changes(p), d.Counts())
	}
	d.record = freshness.Without(d.record, &plan.Plan{Invocations: []*plan.Invocation{{}}})
	if d.plan(three, engine.PlanOptions{}); d.Count("Read") != 3 {
		t.Errorf("after an action: %s", d.Counts())
	}
}

// TestSay: ages are reported as people do.
func TestSay(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]string{
		0: "within the last minute,", time.Minute: "within the last minute,", 61 * time.Second: "within the last 2 minutes,",
		2 * time.Hour: "within the last 120 minutes,", 121 * time.Minute: "within the last 3 hours,", 48 * time.Hour: "within the last 48 hours,",
	} {
		if got := (&plan.LeftOut{Objects: 1, Since: now.Add(-age)}).Say(now, 0); !strings.Contains(got, want) {
			t.Errorf("%s: %s", age, got)
		}
	}
}

// TestAdded: what one plan learns is added to a record, which is written whole when much was added,
// and says nothing when half of it was.
func TestAdded(t *testing.T) {
	d := newDesk(t)
	text := "resource \"sim_object\" \"many\" {\n  count = 40\n  name  = \"m${count.index}\"\n}\n"
	c, p, _ := d.plan(text+three, engine.PlanOptions{})
	d.apply(c, p)
	d.plan(text+three, engine.PlanOptions{})
	whole := len(d.record)
	named := func(n int) string {
		return strings.Replace(text+three, `"b"`+"\n  parent", fmt.Sprintf("\"b%d\"\n  parent", n), 1)
	}
	for n := range 40 {
		d.now = d.now.Add(time.Second)
		if _, p, _ = d.plan(named(n), engine.PlanOptions{}); d.Count("Read") != 1 || p.LeftOut.Objects != 42 {
			t.Fatalf("%d: %s", n, d.Counts())
		}
		if len(d.record) > whole*3/2 {
			t.Fatalf("%d bytes were %d", len(d.record), whole)
		}
	}
	if d.added < 20 || d.added > 39 {
		t.Errorf("%d records were added to", d.added)
	}
	for !bytes.Contains(bytes.TrimSuffix(d.record, []byte("\n")), []byte("\n")) {
		d.plan(named(1), engine.PlanOptions{})
	}
	d.record = d.record[:len(d.record)-3]
	if d.plan(text+three, engine.PlanOptions{}); d.Count("Read") != 43 {
		t.Errorf("after a half written record: %s", d.Counts())
	}
}

// TestSayUnplanned: a plan says how many objects it hasn't asked their providers about.
func TestSayUnplanned(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for unplanned, want := range map[int]string{0: "(-refresh=auto).", 2: " 2 of them weren't planned again either,", 3: " Nor were they planned again,"} {
		if got := (&plan.LeftOut{Objects: 3, Since: now}).Say(now, unplanned); !strings.Contains(got, want) || unplanned == 0 && !strings.HasSuffix(got, want) {
			t.Errorf("%d: %s", unplanned, got)
		}
	}
}

// TestSameAsFull: over random histories of editing, planning and applying, with time going
// by, other people's changes of the state, and records lost, a plan that leaves objects out is
// the same as one that looks at all, as nothing changed outside.
func TestSameAsFull(t *testing.T) {
	left := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		d := newDesk(t)
		e := &estate{r: r}
		for range 12 {
			e.edit()
			switch r.IntN(8) {
			case 0:
				d.record = nil
			case 1:
				d.record = bytes.Clone(d.record[:len(d.record)/2])
			case 2:
				d.region = []string{"north", "south"}[r.IntN(2)]
			case 3:
				e.disturb(d)
			}
			d.now = d.now.Add(time.Duration(r.IntN(9)) * time.Minute)
			text := e.text()
			mode := []plan.Mode{plan.Normal, plan.Normal, plan.Normal, plan.RefreshOnly, plan.Destroy}[r.IntN(5)]
			want, before := d.full(text, engine.PlanOptions{Mode: mode})
			c, got, after := d.plan(text, engine.PlanOptions{Mode: mode})
			if shown(got) != shown(want) || fmt.Sprint(before) != fmt.Sprint(after) {
				t.Fatalf("seed %d:\n%s\n%s%v\nin full\n%s%v", seed, text, shown(got), after, shown(want), before)
			}
			if got.LeftOut != nil {
				left += got.LeftOut.Objects
			}
			if r.IntN(3) > 0 && mode == plan.Normal || r.IntN(6) == 0 {
				d.apply(c, got)
			}
		}
	}
	if left < 100 {
		t.Errorf("only %d objects were left out", left)
	}
}

// shown is all that a plan says of objects and the state.
func shown(p *plan.Plan) string {
	var b strings.Builder
	for _, list := range [][]*plan.Change{p.Changes, p.Drift} {
		for _, c := range list {
			fmt.Fprintf(&b, "%s %s %#v -> %#v\n", c.Action, c.Addr, c.Before, c.After)
		}
		b.WriteString("--\n")
	}
	for _, a := range p.Refreshed.Addresses() {
		o := p.Refreshed.Objects[a]
		fmt.Fprintf(&b, "%s %s %v\n", a, o.JSON, o.Tainted)
	}
	return b.String()
}

// An estate is a configuration that is edited at random.
type estate struct {
	r       *rand.Rand
	objects []string // their arguments
	number  int
}

func (e *estate) edit() {
	for range 1 + e.r.IntN(3) {
		switch n := len(e.objects); {
		case n < 3 || e.r.IntN(4) == 0 && n < 8:
			e.number++
			e.objects = append(e.objects, e.arguments(len(e.objects)))
		case e.r.IntN(5) == 0:
			e.objects = e.objects[:n-1]
		case e.r.IntN(2) == 0:
			i := e.r.IntN(n)
			e.objects[i] = e.arguments(i)
		}
	}
}

// arguments are those of the n-th object, which may refer to earlier ones.
func (e *estate) arguments(n int) string {
	text := fmt.Sprintf("  name = \"n%d\"\n", e.r.IntN(3))
	if n > 0 {
		text += fmt.Sprintf("  parent = sim_object.o%d.%s\n", e.r.IntN(n), []string{"name", "id", "size", "parent"}[e.r.IntN(4)])
	}
	if e.r.IntN(3) == 0 {
		text += fmt.Sprintf("  zone = \"z%d\"\n", e.r.IntN(2))
	}
	if e.r.IntN(4) == 0 {
		text += "  secret = data.sim_lookup.all.found\n"
	}
	return text
}

func (e *estate) text() string {
	text := "data \"sim_lookup\" \"all\" {\n  key = \"k\"\n}\n"
	for i, arguments := range e.objects {
		text += fmt.Sprintf("resource \"sim_object\" \"o%d\" {\n%s}\n", i, arguments)
	}
	return text
}

// disturb is somebody else at work on the state.
func (e *estate) disturb(d *desk) {
	if d.State == nil || len(d.State.Objects) == 0 {
		return
	}
	all := d.State.Addresses()
	at := all[e.r.IntN(len(all))]
	if at.Deposed != "" {
		return
	}
	switch e.r.IntN(3) {
	case 0:
		d.taint(at.String())
	case 1:
		d.edit(at.String(), func(o *state.Object) { o.JSON = bytes.Replace(o.JSON, []byte(`"n1"`), []byte(`"n2"`), 1) })
	case 2:
		s := d.State.Clone()
		delete(s.Objects, at)
		for a, o := range s.Objects {
			o := *o
			o.Dependencies = slices.DeleteFunc(slices.Clone(o.Dependencies), func(r addr.Resource) bool { return r == at.Resource.Erase() })
			s.Objects[a] = &o
		}
		d.State = s
	}
}
