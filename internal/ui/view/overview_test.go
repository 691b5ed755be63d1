package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/ui/view/ansi"
)

func overview(t testing.TB, p *plan.Plan, o Options) string {
	t.Helper()
	p.Schemas = schemas
	var b bytes.Buffer
	if err := Overview(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// mixed has every kind of row, alike changes in several modules among them.
func mixed(t *testing.T) *plan.Plan {
	small := object(values{"id": text("i-2"), "name": text("small"), "secret": text("hunter2"), "tags": cty.MapVal(values{"a": text("1")})})
	p := &plan.Plan{}
	add := func(address string, action plan.Action, before, after cty.Value, more ...func(*plan.Change)) *plan.Change {
		c := change(t, address, action, before, after, more...)
		p.Changes = append(p.Changes, c)
		return c
	}
	for i := range 500 {
		add(fmt.Sprintf("sim_object.node[%d]", i), plan.Update, full(), with(full(), values{"name": text("gen-2"), "id": later()}))
	}
	for _, zone := range []string{"a", "b", "c"} {
		for i := range 2 {
			add(fmt.Sprintf("module.zone[%q].sim_object.disk[%d]", zone, i), plan.DeleteThenCreate, small, with(small, values{"id": later(), "name": text("n-" + zone)}),
				because(plan.ReplaceCannotUpdate), forced(cty.GetAttrPath("name")))
		}
	}
	for _, i := range []int{1, 2, 3, 7} {
		add(fmt.Sprintf("sim_object.left[%d]", i), plan.Delete, small, cty.NilVal, because(plan.DeleteCountIndex))
	}
	add("sim_object.secret", plan.Update, small, with(small, values{"secret": text("hunter3")}))
	add("sim_object.policy", plan.Update, full(), with(full(), values{"policy": text(`{"Version":"1","Statement":[{"Effect":"Deny","Action":"a"}]}`), "script": text("#!/bin/sh\necho one\necho 3\n")}))
	add("sim_object.wide[\"日本語のなまえ\"]", plan.Update, small, with(small, values{"tags": cty.MapVal(values{"a": text("一"), "b": text("2")}), "size": cty.NumberIntVal(3), "on": cty.True}))
	add("sim_object.tainted", plan.CreateThenDelete, small, with(small, values{"id": later()}), because(plan.ReplaceTainted))
	add("sim_object.gone", plan.Create, cty.NilVal, small)
	add("sim_object.drifted", plan.Update, small, with(small, values{"name": text("as-configured")}))
	add("sim_object.forgotten", plan.Forget, small, cty.NilVal, because(plan.ForgotDestroyFalse))
	add("sim_object.moved", plan.NoOp, small, small, from(t, "sim_object.old[0]"))
	add("sim_object.imported", plan.NoOp, small, small, func(c *plan.Change) { c.Importing = &plan.Importing{ID: "i-2"} })
	add("sim_object.same", plan.NoOp, small, small)
	p.Drift = []*plan.Change{
		change(t, "sim_object.gone", plan.Delete, small, cty.NilVal),
		change(t, "sim_object.drifted", plan.Update, small, with(small, values{"name": text("by hand")})),
	}
	p.Deferred = []*plan.Deferred{
		{Change: change(t, "sim_object.later[*]", plan.Create, cty.NilVal, small), Reason: "instance_count_unknown"},
	}
	p.Outputs = []*plan.OutputChange{{Name: "longer", Action: plan.Update, Before: text("x"), After: later()}}
	return p
}

// TestOverview: what a plan results in fits a screen at any width, every object is in it, and
// no secret is.
func TestOverview(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		got := overview(t, mixed(t), Options{Width: width})
		golden(t, fmt.Sprintf("overview-%d.txt", width), got)
		if strings.Contains(got, "hunter") {
			t.Errorf("at %d columns a secret is shown", width)
		}
		for line := range strings.Lines(got) {
			if n := ansi.Width(strings.TrimRight(line, "\n")); width == 200 && n > width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

// TestOverviewOfEqualChanges: five hundred of them are one row.
func TestOverviewOfEqualChanges(t *testing.T) {
	p := &plan.Plan{}
	for i := range 500 {
		p.Changes = append(p.Changes, change(t, fmt.Sprintf("sim_object.node[%d]", i), plan.Update, full(), with(full(), values{"name": text("gen-2")})))
	}
	for _, width := range []int{40, 80, 200} {
		got := overview(t, p, Options{Width: width})
		golden(t, fmt.Sprintf("equal-%d.txt", width), got)
		if n := strings.Count(got, "\n"); n > 25 {
			t.Errorf("%d lines at %d columns", n, width)
		}
	}
	got := overview(t, p, Options{Width: 80})
	if !strings.Contains(got, `~ sim_object.node[0…499]  ×500  name "full" → "gen-2"`) || !strings.Contains(got, "\nPlan: 0 to add, 500 to change, 0 to destroy.\n") {
		t.Error(got)
	}
}

// TestApproval: what is decided about is on the screen whole where there is room for it,
// else with equal values in one row, and else with places in one row. However long the
// plan is, all of it takes few lines.
func TestApproval(t *testing.T) {
	small := func(i int) cty.Value {
		return object(values{"name": text(fmt.Sprintf("n-%d", i)), "id": later(), "size": cty.NumberIntVal(int64(i)), "tags": cty.MapVal(values{"team": text("shop")})})
	}
	old := object(values{"id": text("i-1"), "name": text("old"), "tags": cty.MapVal(values{"team": text("shop")})})
	twelve := &plan.Plan{}
	for i := range 12 {
		c := change(t, fmt.Sprintf("sim_object.b[\"n%d\"]", i), plan.Create, cty.NilVal, small(i))
		switch i % 4 {
		case 1:
			c = change(t, fmt.Sprintf("sim_object.u[\"n%d\"]", i), plan.Update, old, with(old, values{"tags": cty.MapVal(values{"team": text("web")})}))
		case 2:
			c = change(t, fmt.Sprintf("sim_object.r[%d]", i), plan.DeleteThenCreate, old, with(old, values{"id": later(), "name": text("new")}), because(plan.ReplaceCannotUpdate), forced(cty.GetAttrPath("name")))
		case 3:
			c = change(t, fmt.Sprintf("sim_object.d[%d]", i), plan.Delete, old, cty.NilVal, because(plan.DeleteCountIndex))
		}
		twelve.Changes = append(twelve.Changes, c)
	}
	equal, many := &plan.Plan{}, &plan.Plan{}
	for i := range 500 {
		equal.Changes = append(equal.Changes, change(t, fmt.Sprintf("sim_object.node[%d]", i), plan.Create, cty.NilVal, object(values{"name": text("n"), "size": cty.NumberIntVal(2)})))
	}
	for i := range 5000 {
		block := fmt.Sprintf("sim_object.b%d", i%8)
		switch i % 3 {
		case 0:
			many.Changes = append(many.Changes, change(t, fmt.Sprintf("%s[%d]", block, i), plan.Create, cty.NilVal, small(i)))
		case 1:
			many.Changes = append(many.Changes, change(t, fmt.Sprintf("%s[%d]", block, i), plan.Update, old, with(old, values{"name": text(fmt.Sprintf("n-%d", i))})))
		case 2:
			many.Changes = append(many.Changes, change(t, fmt.Sprintf("%s[%d]", block, i), plan.Delete, old, cty.NilVal, because(plan.DeleteNoResourceConfig)))
		}
	}
	for _, test := range []struct {
		name string
		plan *plan.Plan
		most int // lines
	}{
		{"one", &plan.Plan{Changes: []*plan.Change{change(t, "sim_object.a", plan.Create, cty.NilVal, small(1))}}, 30 - question},
		{"twelve", twelve, 60}, {"equal", equal, 25}, {"many", many, 80},
	} {
		for _, width := range []int{80, 120, 200} {
			got := overview(t, test.plan, Options{Width: width, Height: 30, Detail: "-detail", Fold: true})
			golden(t, fmt.Sprintf("approve-%s-%d.txt", test.name, width), got)
			if n := strings.Count(got, "\n"); n > test.most {
				t.Errorf("%s: %d lines at %d columns", test.name, n, width)
			}
		}
	}
	// Each object is there whole where the screen is high.
	got := overview(t, twelve, Options{Width: 120, Height: 200, Fold: true})
	golden(t, "approve-twelve-high.txt", got)
	last := -1
	for _, address := range []string{"d[3]", "d[7]", "d[11]", "r[2]", "r[6]", "r[10]", `u["n1"]`, `u["n5"]`, `u["n9"]`, `b["n0"]`, `b["n4"]`, `b["n8"]`} {
		at := strings.Index(got, "# sim_object."+address)
		if at <= last {
			t.Errorf("%s comes at %d after %d", address, at, last)
		}
		last = at
	}
}

// TestApprovalInColour: what is lost is red, and so is what forces it.
func TestApprovalInColour(t *testing.T) {
	p := mixed(t)
	for _, height := range []int{0, 30} {
		got := overview(t, p, Options{Width: 120, Height: height, Pen: ansi.Pen{On: true}})
		for _, want := range []string{
			"\x1b[1m\x1b[31msim_object.left[1…3, 7]\x1b[0m",
			"\x1b[1m\x1b[31mmodule.zone[\"a\", \"b\", \"c\"].sim_object.disk[0…1]\x1b[0m",
			"\x1b[31mforces\x1b[0m \x1b[31mreplacement\x1b[0m",
			"\x1b[1m\x1b[31mRiskiest: 4 objects destroyed, 7 objects replaced.\x1b[0m",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q isn't in\n%s", want, got)
			}
		}
	}
}

// TestOverviewWithoutChanges: there is nothing to put in rows, so both say the same.
func TestOverviewWithoutChanges(t *testing.T) {
	for _, p := range []*plan.Plan{{}, {Mode: plan.Destroy}, {Errored: true}, {Mode: plan.RefreshOnly, Drift: []*plan.Change{change(t, "sim_object.gone", plan.Delete, full(), cty.NilVal)}}} {
		if got := overview(t, p, Options{}); got != render(t, p, Options{}) {
			t.Error(got)
		}
	}
}

func TestChain(t *testing.T) {
	g := &execgraph.Graph{Steps: []execgraph.Step{
		0: {Kind: execgraph.OpenProvider},
		1: {Kind: execgraph.Apply, After: []execgraph.ID{0}},
		2: {Kind: execgraph.Apply, After: []execgraph.ID{0}},
		3: {Kind: execgraph.Apply, After: []execgraph.ID{0, 1}},
		4: {Kind: execgraph.CloseProvider, After: []execgraph.ID{0, 1, 2, 3}, When: execgraph.Always},
	}}
	steps, longest := Chain(g)
	// Three updates between opening and closing the provider; two follow each other.
	if steps != len(g.Steps) || longest != 4 {
		t.Errorf("%d steps, %d in a row", steps, longest)
	}
}

func BenchmarkOverview(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		p := &plan.Plan{Schemas: schemas}
		for i := range n {
			p.Changes = append(p.Changes, change(b, fmt.Sprintf("module.m[%d].sim_object.a[%d]", i%10, i), plan.Update, full(), with(full(), values{"name": later()})))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				overview(b, p, Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/change")
		})
	}
}

// TestOutside: for who reads all of each change, its heading has what happened outside.
func TestOutside(t *testing.T) {
	p := mixed(t)
	for fold, want := range map[bool]int{true: 1, false: 0} {
		got := render(t, p, Options{Fold: fold})
		for _, text := range []string{"sim_object.gone will be created\n  # (it was deleted outside of weir)\n", "sim_object.drifted will be updated in-place\n  # (it was changed outside of weir)\n"} {
			if n := strings.Count(got, text); n != want {
				t.Errorf("folded %t: %q is there %d times", fold, text, n)
			}
		}
	}
}

// TestBecause: a row says what its changes come from, where that is the same for them.
func TestBecause(t *testing.T) {
	given := why.Chain{{Kind: why.Attribute}, {Kind: why.Local, Subject: "local.x"}, {Kind: why.Given, Subject: "var.v", Name: "file"}}
	through := why.Chain{{Kind: why.Attribute}, {Kind: why.Change, Subject: "sim_object.other"}, {Kind: why.Given, Subject: "var.w", Name: "argument"}}
	perhaps := why.Chain{{Kind: why.Attribute}, {Kind: why.Given, Subject: "var.x", Maybe: true}}
	written := why.Chain{{Kind: why.Attribute}, {Kind: why.Written}}
	p := &plan.Plan{}
	for i := range 30 {
		p.Changes = append(p.Changes, change(t, fmt.Sprintf("sim_object.node[%d]", i), plan.Update, full(), with(full(), values{"name": text("gen-2")})))
	}
	for _, test := range []struct {
		first, last []why.Chain
		want        string
	}{
		{[]why.Chain{given, written}, []why.Chain{given}, "because of var.v (file)"},
		{[]why.Chain{through, given}, []why.Chain{through, given}, "because of sim_object.other, var.v (file)"},
		{[]why.Chain{given}, []why.Chain{through}, ""},
		{[]why.Chain{given, through}, []why.Chain{through}, "because of sim_object.other"},
		{[]why.Chain{perhaps}, []why.Chain{perhaps}, ""},
		{[]why.Chain{{{Kind: why.Given, Subject: "var.z", Name: "deployment"}}}, []why.Chain{{{Kind: why.Given, Subject: "var.z", Name: "deployment"}}}, "because of var.z (deployment)"},
		{[]why.Chain{{{Kind: why.Default, Subject: "var.z"}}}, []why.Chain{{{Kind: why.Default, Subject: "var.z"}}}, "because of var.z (default)"},
		{nil, nil, ""},
	} {
		got := overview(t, p, Options{Width: 200, Because: func(c *plan.Change) []why.Chain {
			if c == p.Changes[29] {
				return test.last
			}
			return test.first
		}})
		if test.want == "" && strings.Contains(got, "because") || !strings.Contains(got, test.want) {
			t.Errorf("%q isn't in\n%s", test.want, got)
		}
		// A saved plan has them itself.
		for i, c := range p.Changes {
			if c.Causes = why.Origins(test.first); i == 29 {
				c.Causes = why.Origins(test.last)
			}
		}
		if again := overview(t, p, Options{Width: 200}); again != got {
			t.Errorf("from the plan itself:\n%s\nrather than\n%s", again, got)
		}
	}
}

// TestDoubt: what waits for an answer about an object in doubt isn't called deferred.
func TestDoubt(t *testing.T) {
	p := &plan.Plan{Deferred: []*plan.Deferred{
		{Change: change(t, "sim_object.maybe", plan.Create, cty.NilVal, full()), Reason: "in_doubt"},
		{Change: change(t, "sim_object.needed", plan.Delete, full(), cty.NilVal), Reason: "needed_in_doubt"},
		{Change: change(t, "sim_object.dependent", plan.Create, cty.NilVal, full()), Reason: "deferred_prereq"},
	}, Changes: []*plan.Change{change(t, "sim_object.new", plan.Create, cty.NilVal, full())}}
	for _, got := range []string{render(t, p, Options{}), overview(t, p, Options{Width: 80}), overview(t, p, Options{Width: 80, Height: 200, Fold: true})} {
		if strings.Contains(got, "eferred") || !strings.Contains(got, "in doubt") && !strings.Contains(got, "In doubt") || !strings.Contains(got, "recover") {
			t.Error(got)
		}
	}
}

// TestForgotten: an object is forgotten because a removed block says so, which is named.
func TestForgotten(t *testing.T) {
	c := change(t, "sim_object.old", plan.Forget, full(), cty.NilVal, because(plan.DeleteNoResourceConfig))
	p := &plan.Plan{Changes: []*plan.Change{c}}
	for _, height := range []int{0, 200} {
		o := Options{Width: 100, Height: height, Fold: true}
		if got := overview(t, p, o); !strings.Contains(got, "because of its removed block") || strings.Contains(got, "not in configuration") {
			t.Error(got)
		}
		o.Because = func(*plan.Change) []why.Chain {
			return []why.Chain{{{Kind: why.Removed, Range: &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: 7}}}}}
		}
		if got := overview(t, p, o); !strings.Contains(got, "because of the removed block at main.tf:7") {
			t.Error(got)
		}
	}
	// Elsewhere it is as other programs have it.
	if got := render(t, p, Options{}); !strings.Contains(got, "(because sim_object.old is not in configuration)") {
		t.Error(got)
	}
}
