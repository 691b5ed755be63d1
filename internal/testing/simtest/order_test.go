package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// sketch reads a configuration from a few words: blocks separated by
// semicolons, each a name and words such as key=1, value=1, refs=a,b,
// all=a (all instances), parent=a, from=a, needs=a, triggers=a, lookup=a and
// find=a (a data source), output, length=a, count=2, each=ab, cbd, other, was=a (a moved
// block), endpoint (what the other provider needs) and in=m (a module, whose own words follow "module m").
func sketch(t *testing.T, text string) *Model {
	t.Helper()
	m := &Model{Modules: []Module{{Label: "root"}}, Endpoint: map[string]string{}}
	for block := range strings.SplitSeq(text, ";") {
		words := strings.Fields(block)
		if len(words) == 0 {
			continue
		}
		if words[0] == "module" {
			mod := Module{Label: words[1], Name: words[1], Parent: "root"}
			for _, word := range words[2:] {
				key, value, _ := strings.Cut(word, "=")
				switch key {
				case "in":
					mod.Parent = value
				case "other":
					mod.Other = "other"
				case "was":
					m.Moved = append(m.Moved, Moved{In: mod.Parent, From: "module." + value, To: "module." + mod.Name})
				default:
					mod.Repeat = repeatWord(t, key, value)
				}
			}
			m.Modules = append(m.Modules, mod)
			continue
		}
		o := Object{Label: words[0], Name: words[0], Module: "root"}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			number, _ := strconv.Atoi(value)
			switch key {
			case "in":
				o.Module = value
			case "key":
				o.Key = number
			case "value":
				o.Value = number
			case "refs":
				for to := range strings.SplitSeq(value, ",") {
					o.Refs = append(o.Refs, Ref{To: to, Index: true})
				}
			case "all":
				o.Refs = append(o.Refs, Ref{To: value})
			case "parent":
				o.Parent = &Ref{To: value, Index: true}
			case "from":
				o.ValueFrom = &Ref{To: value, Index: true}
			case "needs":
				o.DependsOn = strings.Split(value, ",")
			case "triggers":
				o.TriggeredBy = strings.Split(value, ",")
			case "lookup", "find":
				o.Data, o.Refs = key, []Ref{{To: value}}
			case "output":
				o.Output.Kind = "plain"
			case "cbd":
				o.CBD = true
			case "other":
				o.Other = "other"
			case "endpoint":
				m.Endpoint["other"] = o.Label
			case "was":
				m.Moved = append(m.Moved, Moved{In: o.Module, From: "sim_object." + value, To: "sim_object." + o.Name})
				o.Label = value
			default:
				o.Repeat = repeatWord(t, key, value)
			}
		}
		m.Objects = append(m.Objects, o)
	}
	return m
}

func repeatWord(t *testing.T, key, value string) Repeat {
	t.Helper()
	switch key {
	case "count":
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		return Repeat{Kind: "count", N: n}
	case "each":
		return Repeat{Kind: "each", Keys: value}
	}
	if key == "length" {
		return Repeat{Kind: "length", To: value}
	}
	t.Fatalf("%s=%s has no meaning", key, value)
	return Repeat{}
}

// A scenario is two configurations and what has to happen between them.
type scenario struct {
	name   string
	before string
	// failing, unless empty, is applied between the two with the operations in
	// fail, separated by commas, failing.
	failing, fail string
	after         string
	destroy       bool // instead of after
	// want has every operation in chains separated by semicolons: a.C, a.U
	// and a.D create, update and delete an object, named by its name or, where
	// there are several, by its id. Within a chain each comes after the one
	// before it, whatever the schedule.
	want string
}

var scenarios = []scenario{
	// the examples of the rules
	{name: "E1 user with CBD, both replaced", before: "a; b cbd refs=a", after: "a key=1; b key=1 cbd refs=a", want: "a.C b.C b.D a.D"},
	{name: "E2 used with CBD replaced, user updated", before: "a cbd; b refs=a", after: "a key=1 cbd; b value=1 refs=a", want: "a.C b.U a.D"},
	{name: "E2b used with CBD, both replaced", before: "a cbd; b parent=a", after: "a key=1 cbd; b key=1 parent=a", want: "b.D a.C b.C a.D"},
	{name: "E3 orphan with CBD, used replaced", before: "a; b cbd refs=a", after: "a key=1", want: "b.D a.D a.C"},
	{name: "E4 orphan with CBD, user updated", before: "a cbd; b refs=a", after: "b value=1", want: "b.U a.D"},
	{name: "E6 chain through modules removed", before: "module m; module n; a; b in=m refs=a; c in=n refs=b", after: "", want: "n.c.D m.b.D a.D"},
	{name: "C1 user removed, used updated", before: "a; b refs=a", after: "a value=1", want: "b.D a.U"},
	{name: "C2 used removed, user updated", before: "a; b refs=a", after: "b value=1", want: "b.U a.D"},
	{name: "C3 used removed, user replaced", before: "a; b parent=a", after: "b key=1", want: "b.D a.D b.C"},

	// one object
	{name: "nothing", before: "a", after: "a", want: ""},
	{name: "create", before: "", after: "a", want: "a.C"},
	{name: "update", before: "a", after: "a value=1", want: "a.U"},
	{name: "replace", before: "a", after: "a key=1", want: "a.D a.C"},
	{name: "replace with CBD", before: "a cbd", after: "a key=1 cbd", want: "a.C a.D"},
	{name: "replace with CBD that is new", before: "a", after: "a key=1 cbd", want: "a.C a.D"},
	{name: "replace with CBD that is gone", before: "a cbd", after: "a key=1", want: "a.D a.C"},
	{name: "orphan", before: "a", after: "", want: "a.D"},
	{name: "fewer instances", before: "a count=2", after: "a count=1", want: "a-1.D"},
	{name: "other key", before: "a each=a", after: "a each=b", want: "a-a.D; a-b.C"},
	{name: "moved and replaced", before: "a", after: "b was=a key=1", want: "a.D a.C"},
	{name: "deposed", before: "a cbd", failing: "a key=1 cbd", fail: "delete a", after: "a key=1 cbd", want: "a.D"},
	{name: "deposed, replaced again", before: "a cbd", failing: "a key=1 cbd", fail: "delete a", after: "a key=2 cbd", want: "a.C a#2.D; a#1.D"},
	{name: "deposed, replaced again without CBD", before: "a cbd", failing: "a key=1 cbd", fail: "delete a", after: "a key=2", want: "a#2.D a.C; a#1.D"},
	{name: "deposed and orphan", before: "a cbd", failing: "a key=1 cbd", fail: "delete a", after: "", want: "a#2.D; a#1.D"},
	{name: "deposed and moved", before: "a cbd", failing: "a key=1 cbd", fail: "delete a", after: "b was=a key=1 cbd", want: "a.D"},
	{name: "tainted", before: "", failing: "a", fail: "taint a", after: "a", want: "a.D a.C"},
	{name: "tainted with CBD", before: "", failing: "a cbd", fail: "taint a", after: "a cbd", want: "a.C a.D"},
	{name: "failed creation with CBD is taken back", before: "a cbd", failing: "a key=1 cbd", fail: "create a", after: "a cbd", want: ""},

	// two objects
	{name: "create two", before: "", after: "a; b refs=a", want: "a.C b.C"},
	{name: "update two", before: "a; b from=a", after: "a value=1; b from=a", want: "a.U b.U"},
	{name: "replace two", before: "a; b parent=a", after: "a key=1; b parent=a", want: "b.D a.D a.C b.C"},
	{name: "replace two, both with CBD", before: "a cbd; b cbd parent=a", after: "a key=1 cbd; b cbd parent=a", want: "a.C b.C b.D a.D"},
	{name: "replace the user only", before: "a; b parent=a", after: "a; b key=1 parent=a", want: "b.D b.C"},
	{name: "user replaced, used updated", before: "a; b refs=a", after: "a value=1; b key=1 refs=a", want: "b.D a.U b.C"},
	{name: "user replaced with CBD, used updated", before: "a; b cbd refs=a", after: "a value=1; b key=1 cbd refs=a", want: "a.U b.C b.D"},
	{name: "user removed, used replaced", before: "a; b refs=a", after: "a key=1", want: "b.D a.D a.C"},
	{name: "user removed, used replaced with CBD", before: "a cbd; b refs=a", after: "a key=1 cbd", want: "b.D a.C a.D"},
	{name: "used removed, user replaced with CBD", before: "a; b cbd refs=a", after: "b key=1 cbd", want: "b.C b.D a.D"},
	{name: "both removed", before: "a; b refs=a", after: "", want: "b.D a.D"},
	{name: "both removed, with CBD", before: "a cbd; b cbd refs=a", after: "", want: "b.D a.D"},
	{name: "reference dropped, used replaced", before: "a; b refs=a", after: "a key=1; b", want: "b.U a.D a.C"},
	{name: "reference reversed", before: "a; b refs=a", after: "b; a refs=b", want: "b.U a.U"},
	{name: "reference reversed, former user replaced", before: "a; b refs=a", after: "b key=1; a refs=b", want: "b.D b.C a.U"},
	{name: "only depends_on, both removed", before: "a; b needs=a", after: "", want: "b.D a.D"},
	{name: "only depends_on, used replaced", before: "a; b needs=a", after: "a key=1; b needs=a", want: "a.D a.C"},
	{name: "fewer instances of what is used", before: "a count=2; b all=a", after: "a count=1; b all=a", want: "b.U a-1.D"},
	{name: "more instances of what is used", before: "a count=1; b parent=a", after: "a count=2; b value=1 parent=a", want: "a-1.C; b.U"},
	{name: "fewer pairs", before: "a count=2; b count=2 refs=a", after: "a count=1; b count=1 refs=a", want: "b-1.D a-1.D"},
	{name: "deposed in use", before: "a cbd; b refs=a", failing: "a key=1 cbd; b refs=a", fail: "update b", after: "a key=1 cbd; b refs=a", want: "b.U a.D"},
	{name: "deposed in use by an orphan", before: "a cbd; b refs=a", failing: "a key=1 cbd; b refs=a", fail: "update b", after: "a key=1 cbd", want: "b.D a.D"},
	{name: "both deposed", before: "a; b cbd parent=a", failing: "a key=1; b cbd parent=a", fail: "delete b", after: "a key=1; b cbd parent=a", want: "b.D a.D"},
	{name: "both deposed, then removed", before: "a; b cbd parent=a", failing: "a key=1; b cbd parent=a", fail: "delete b", after: "", want: "b#1.D a#1.D; b#2.D a#2.D"},
	{name: "moved, then both removed", before: "a; b refs=a", failing: "c was=a; b refs=a", after: "", want: "b.D a.D"},
	{name: "used moved, user removed, used replaced", before: "a; b refs=a", after: "c was=a key=1", want: "b.D a.D a.C"},

	// three objects
	{name: "replace three", before: "a; b parent=a; c parent=b", after: "a key=1; b parent=a; c parent=b", want: "c.D b.D a.D a.C b.C c.C"},
	{name: "replace three, the last with CBD", before: "a; b parent=a; c cbd parent=b", after: "a key=1; b parent=a; c cbd parent=b", want: "a.C b.C c.C c.D b.D a.D"},
	{name: "replace three, the middle one with CBD", before: "a; b cbd parent=a; c parent=b", after: "a key=1; b cbd parent=a; c parent=b", want: "c.D a.C b.C c.C b.D a.D"},
	{name: "through one without changes", before: "a; b refs=a; c refs=b", after: "a value=1; b refs=a; c value=1 refs=b", want: "a.U c.U"},
	{name: "user of a user with CBD, nothing between", before: "a; b refs=a; c cbd refs=b", after: "a key=1; b refs=a; c cbd refs=b", want: "a.C b.U a.D"},
	{name: "middle one removed", before: "a; b refs=a; c refs=b", after: "a; c refs=a", want: "c.U b.D"},
	{name: "last two removed", before: "a; b refs=a; c refs=b", after: "a value=1", want: "c.D b.D a.U"},
	{name: "reference to another one", before: "a; b refs=a", after: "c; b refs=c", want: "c.C b.U a.D"},
	{name: "parent is another one", before: "a; b parent=a", after: "c; b parent=c", want: "b.D a.D b.C; c.C b.C"},
	{name: "parent is another one, with CBD", before: "a; b cbd parent=a", after: "c; b cbd parent=c", want: "c.C b.C b.D a.D"},
	{name: "replaced below a dropped reference", before: "z; y refs=z; x refs=y", after: "z key=1; x", want: "x.U y.D z.D z.C"},
	{name: "two users of one", before: "a; b parent=a; c cbd parent=a", after: "a key=1; b parent=a; c cbd parent=a", want: "b.D a.C b.C a.D; a.C c.C c.D a.D"},
	{name: "one user of two", before: "a; b cbd; c parent=a refs=b", after: "a key=1; b key=1 cbd; c parent=a refs=b", want: "c.D a.D a.C c.C b.D; b.C c.C"},

	// modules
	{name: "modules: user with CBD, both replaced", before: "module m; module n; a in=m; b in=n cbd refs=a", after: "module m; module n; a in=m key=1; b in=n key=1 cbd refs=a", want: "m.a.C n.b.C n.b.D m.a.D"},
	{name: "modules: used removed, user updated", before: "module m; a in=m; b refs=a", after: "b value=1", want: "b.U m.a.D"},
	{name: "modules: fewer instances", before: "module m count=2; a in=m; b in=m refs=a", after: "module m count=1; a in=m; b in=m refs=a", want: "m-1.b.D m-1.a.D"},
	{name: "modules: renamed, then removed", before: "module m; a in=m; b refs=a", failing: "module n was=m; a in=n; b refs=a", after: "", want: "b.D n.a.D"},
	{name: "modules: instances apart", before: "module m count=2; a in=m; b in=m parent=a", after: "module m count=2; a in=m key=1; b in=m parent=a", want: "m-0.b.D m-0.a.D m-0.a.C m-0.b.C; m-1.b.D m-1.a.D m-1.a.C m-1.b.C"},

	// providers
	{name: "providers: both removed", before: "a; b other refs=a", after: "", want: "b.D a.D"},
	{name: "providers: both replaced", before: "a; b other parent=a", after: "a key=1; b other parent=a", want: "b.D a.D a.C b.C"},
	{name: "providers: user with CBD", before: "a other; b cbd refs=a", after: "a other key=1; b key=1 cbd refs=a", want: "a.C b.C b.D a.D"},
	{name: "providers: another one and removed", before: "a; b refs=a", failing: "a other; b refs=a", after: "", want: "b.D a.D"},
	{name: "providers: module with another one removed", before: "module m other; a; b in=m refs=a", after: "a value=1", want: "m.b.D a.U"},

	{name: "providers: configured with what is created", before: "", after: "p endpoint; b other", want: "p.C b.C"},
	{name: "providers: configured with what is updated", before: "p endpoint; b other", after: "p endpoint value=1; b other value=1", want: "p.U b.U"},
	{name: "providers: configured with what is updated, object removed", before: "p endpoint; b other", after: "p endpoint value=1", want: "p.U b.D"},
	{name: "providers: configured with what is updated, object replaced", before: "p endpoint; b other", after: "p endpoint value=1; b other key=1", want: "p.U b.D b.C"},
	{name: "providers: configured with what is updated, object replaced with CBD", before: "p endpoint; b other cbd", after: "p endpoint value=1; b other key=1 cbd", want: "p.U b.C b.D"},
	{name: "providers: configured with what is updated, objects removed", before: "p endpoint; b other; c other refs=b", after: "p endpoint value=1", want: "p.U c.D b.D"},
	{name: "providers: configured with what is updated, objects of both removed", before: "p endpoint; b refs=p; c other refs=b", after: "p endpoint value=1", want: "p.U c.D b.D"},
	{name: "providers: configured with what is replaced", before: "p endpoint; b other", after: "p endpoint key=1; b other", want: "p.D p.C"},
	{name: "providers: configured with what is replaced, object removed", before: "p endpoint; b other", after: "p endpoint key=1", want: "p.D p.C b.D"},
	{name: "providers: configured with what is replaced with CBD, object removed", before: "p endpoint cbd; b other", after: "p endpoint key=1 cbd", want: "p.C b.D p.D"},
	{name: "providers: configured with what is removed", before: "p endpoint; b other", after: "b other value=1", want: "b.U p.D"},

	// everything
	{name: "destroy", before: "a; b parent=a cbd; c refs=b", destroy: true, want: "c.D b.D a.D"},
	{name: "destroy what configures a provider", before: "p endpoint; b other; c other refs=b", destroy: true, want: "c.D b.D p.D"},
	{name: "destroy with deposed", before: "a cbd; b refs=a", failing: "a key=1 cbd; b refs=a", fail: "update b", destroy: true, want: "b.D a#1.D; b.D a#2.D"},
}

func TestOrder(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			w := NewWorld()
			step(t, w, s.before, "")
			if s.failing != "" {
				step(t, w, s.failing, s.fail)
			}
			c := load(t, s.after)
			o := engine.PlanOptions{}
			if s.destroy {
				c, o.Mode = load(t, s.before), plan.Destroy
			}
			p, diags := w.Plan(c, o)
			if diags.HasErrors() {
				t.Fatal(problems(diags))
			}
			for _, d := range diags {
				if d.Summary == inUse {
					t.Errorf("warned: %s", d.Detail)
				}
			}
			for schedule := range uint64(20) {
				r := rand.New(rand.NewPCG(schedule, 3))
				copied := w.Clone()
				more := copied.Apply(c, p, How{Parallelism: 1, Choose: func(ready []execgraph.ID) int { return r.IntN(len(ready)) }})
				if more.HasErrors() {
					t.Fatalf("%s%s", problems(more), printed(p))
				}
				if problem := follows(copied.Cloud.Log(), s.want); problem != "" {
					t.Fatalf("%s\n%s", problem, printed(p))
				}
			}
		})
	}
}

const inUse = "Replaced object is still in use"

func load(t *testing.T, text string) *engine.Config {
	t.Helper()
	c, diags := Load(sketch(t, text).Files())
	if diags.HasErrors() {
		t.Fatal(problems(diags))
	}
	return c
}

// step applies a configuration; with operations that fail it may end with
// errors.
func step(t *testing.T, w *World, text, fails string) diag.List {
	t.Helper()
	c := load(t, text)
	p, diags := w.Plan(c, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(problems(diags))
	}
	for f := range strings.SplitSeq(fails, ",") {
		w.Cloud.Fail(f)
	}
	if more := w.Apply(c, p, How{Parallelism: 1}); more.HasErrors() != (fails != "") {
		t.Fatalf("%s%s", problems(more), printed(p))
	}
	w.Cloud.Heal()
	w.Cloud.Log()
	return diags
}

// follows compares what was done with the chains of a scenario.
func follows(log []Op, want string) string {
	at := map[string]int{}
	times := map[string]int{}
	letter := map[string]string{"create": ".C", "update": ".U", "delete": ".D"}
	for i, op := range log {
		if op.Refused {
			return fmt.Sprintf("refused: %v", log)
		}
		times[op.Name+letter[op.Kind]]++
		at[op.Name+letter[op.Kind]], at[op.ID+letter[op.Kind]] = i, i
	}
	named := map[int]bool{}
	for chain := range strings.SplitSeq(want, ";") {
		last := -1
		for _, name := range strings.Fields(chain) {
			i, ok := at[name]
			if !ok || times[name] > 1 {
				return fmt.Sprintf("%s isn't there once: %v", name, log)
			}
			if i < last {
				return fmt.Sprintf("%s is too early: %v", name, log)
			}
			last = i
			named[i] = true
		}
	}
	if len(named) != len(log) {
		return fmt.Sprintf("more was done than %s: %v", want, log)
	}
	return ""
}

// TestDemanded has the configurations that can't work as they are: the plan
// says so, names the way out, and that is one.
func TestDemanded(t *testing.T) {
	tests := []struct{ name, before, after, deleted, user, wayOut string }{
		{"user updated", "a; b refs=a", "a key=1; b refs=a", "sim_object.a", "sim_object.b", "a key=1 cbd; b refs=a"},
		{"user in a module updated", "module m; a; b in=m refs=a", "module m; a key=1; b in=m refs=a", "sim_object.a", "module.m.sim_object.b", "module m; a key=1 cbd; b in=m refs=a"},
		{"user of another provider updated", "a; b other refs=a", "a key=1; b other refs=a", "sim_object.a", "sim_object.b", "a key=1 cbd; b other refs=a"},
		{"one of many", "a count=2; b refs=a", "a count=2 key=1; b refs=a", "sim_object.a", "sim_object.b", "a count=2 key=1 cbd; b refs=a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := NewWorld()
			step(t, w, test.before, "")
			c := load(t, test.after)
			p, diags := w.Plan(c, engine.PlanOptions{})
			i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Summary == inUse })
			if i < 0 {
				t.Fatalf("no warning\n%s", printed(p))
			}
			for _, word := range []string{test.deleted, test.user, "create_before_destroy = true"} {
				if !strings.Contains(diags[i].Detail, word) {
					t.Errorf("%s isn't in the warning: %s", word, diags[i].Detail)
				}
			}
			if diags[i].Severity != diag.Warning || diags[i].Subject == nil {
				t.Errorf("%+v", diags[i])
			}
			if w.Clone().Apply(c, p, How{}).Err() == nil {
				t.Error("it works, so there was nothing to warn of")
			}
			for _, d := range step(t, w, test.wayOut, "") {
				if d.Summary == inUse {
					t.Errorf("warned again: %s", d.Detail)
				}
			}
		})
	}
}
