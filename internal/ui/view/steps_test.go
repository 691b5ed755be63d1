package view

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

func stepObject(t *testing.T, text, deposed string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i, Deposed: deposed}
}

func TestSteps(t *testing.T) {
	p := addr.ProviderConfig{Provider: addr.OpenTofu.Provider("sim")}
	q := addr.ProviderConfig{Module: addr.Root.Child(addr.Mod("m"), addr.IntKey(0)), Provider: p.Provider, Alias: "b", Key: addr.StringKey("k")}
	a, b := stepObject(t, "s_o.a", ""), stepObject(t, "module.m[0].s_o.b", "")
	old, d, e := stepObject(t, "s_o.a", "0123abcd"), stepObject(t, "data.s_o.d", ""), stepObject(t, "ephemeral.s_o.e", "")
	pl := &plan.Plan{
		Changes: []*plan.Change{{Addr: a, Action: plan.CreateThenDelete}, {Addr: b, Action: plan.Update}},
		Graph: &execgraph.Graph{Steps: []execgraph.Step{
			0:  {Kind: execgraph.OpenProvider, Provider: &p},
			1:  {Kind: execgraph.OpenEphemeral, Object: &e, Provider: &p, After: []execgraph.ID{0}},
			2:  {Kind: execgraph.OpenProvider, Provider: &q, After: []execgraph.ID{1}},
			3:  {Kind: execgraph.ReadData, Object: &d, Provider: &p, After: []execgraph.ID{0, 1}},
			4:  {Kind: execgraph.Depose, Object: &a, Provider: &p, Change: 1, After: []execgraph.ID{0, 3}},
			5:  {Kind: execgraph.Apply, Object: &a, Provider: &p, Change: 1, After: []execgraph.ID{0, 4}},
			6:  {Kind: execgraph.RestoreDeposed, Object: &a, Provider: &p, Change: 1, After: []execgraph.ID{5}, When: execgraph.OnFailure, Of: 5, Takes: []execgraph.ID{4, 5}},
			7:  {Kind: execgraph.Gate, After: []execgraph.ID{3, 5}},
			8:  {Kind: execgraph.Apply, Object: &b, Provider: &q, Change: 2, After: []execgraph.ID{2, 7}},
			9:  {Kind: execgraph.Gate, After: []execgraph.ID{7, 8}},
			10: {Kind: execgraph.Output, Name: "o", After: []execgraph.ID{8}},
			11: {Kind: execgraph.Destroy, Object: &old, Provider: &p, Change: 1, After: []execgraph.ID{0, 8}},
			12: {Kind: execgraph.CloseProvider, Provider: &q, After: []execgraph.ID{2, 8}, When: execgraph.Always},
			13: {Kind: execgraph.CloseProvider, Provider: &p, After: []execgraph.ID{0, 1, 3, 5, 11}, When: execgraph.Always},
		}},
	}
	if err := pl.Graph.Verify(len(pl.Changes)); err != nil {
		t.Fatal(err)
	}
	want := `
Steps of the apply, each with what it waits for:

    1  open provider hashicorp/sim
    2  open ephemeral.s_o.e
         after    1  open provider hashicorp/sim
    3  open provider hashicorp/sim.b["k"] of module.m[0]
         after    2  open ephemeral.s_o.e
    4  read data.s_o.d
         after    2  open ephemeral.s_o.e
    5  set aside s_o.a
         after    4  read data.s_o.d
    6  create s_o.a
         after    5  set aside s_o.a
    7  take back s_o.a (only if 6 fails)
         after    6  create s_o.a
    8  update module.m[0].s_o.b
         after    3  open provider hashicorp/sim.b["k"] of module.m[0]
                  4  read data.s_o.d
                  6  create s_o.a
    9  evaluate output o
         after    8  update module.m[0].s_o.b
   10  destroy s_o.a (deposed object 0123abcd)
         after    1  open provider hashicorp/sim
                  8  update module.m[0].s_o.b
   11  close provider hashicorp/sim.b["k"] of module.m[0] (whatever happens)
         after       every step that uses it
   12  close provider hashicorp/sim (whatever happens)
         after       every step that uses it
`
	if got := stepsText(t, pl); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStepsGate: where many wait for many the text has a gate, so that it
// stays linear.
func TestStepsGate(t *testing.T) {
	const n = 50
	g := &execgraph.Graph{}
	var first []execgraph.ID
	step := func(after ...execgraph.ID) {
		g.Steps = append(g.Steps, execgraph.Step{Kind: execgraph.Output, Name: "o", After: after})
	}
	for i := range n {
		step()
		first = append(first, execgraph.ID(i))
	}
	g.Steps = append(g.Steps, execgraph.Step{Kind: execgraph.Gate, After: first})
	for range n {
		step(n)
	}
	got := stepsText(t, &plan.Plan{Graph: g})
	if !strings.Contains(got, "   51  wait for all of these\n         after    1  evaluate output o\n") ||
		!strings.Contains(got, "   52  evaluate output o\n         after   51  all that it waits for\n") {
		t.Errorf("no gate in\n%s", got)
	}
	if lines := strings.Count(got, "\n"); lines > 5*n {
		t.Errorf("%d lines", lines)
	}
}

func stepsText(t *testing.T, pl *plan.Plan) string {
	t.Helper()
	var b strings.Builder
	if err := Steps(&b, pl, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
