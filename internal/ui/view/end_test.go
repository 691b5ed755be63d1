package view

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
)

// TestEnd: what failed, is in doubt and wasn't started stands in few lines, with what kept it
// from being started.
func TestEnd(t *testing.T) {
	p := &plan.Plan{Graph: &execgraph.Graph{}}
	step := func(text string, after ...execgraph.ID) addr.Instance {
		at, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Graph.Steps = append(p.Graph.Steps, execgraph.Step{Kind: execgraph.Apply, Object: &addr.Object{Instance: at}, After: after})
		return at
	}
	step("sim_a.ok")
	step(`sim_a.bad["x"]`)
	doubtful := step("sim_a.doubtful")
	p.Graph.Steps = append(p.Graph.Steps, execgraph.Step{Kind: execgraph.Gate, After: []execgraph.ID{1}})
	for i := range 30 {
		step(fmt.Sprintf("module.m[%d].sim_b.after[%d]", i%3, i/3), 3)
	}
	step("sim_b.behind", 2)
	e := End{
		Plan: p, Endings: map[execgraph.ID]event.Ending{0: event.Done, 1: event.Failed, 2: event.Failed, 3: event.Skipped, 4: event.Skipped},
		Serial: 7, Saved: true, Program: "weir",
	}
	for _, tt := range []struct {
		doubts []addr.Instance
		mode   plan.Mode
		want   string
	}{
		{nil, plan.Normal, `
Stopped: 1 of 34 done, 2 failed, 31 not begun. The state is saved, serial 7.
  failed     sim_a.bad["x"]
             sim_a.doubtful
  not begun  module.m[0…2].sim_b.after[0…9] ×30
             sim_b.behind
             because of sim_a.bad["x"], sim_a.doubtful
  next       weir apply
`},
		{[]addr.Instance{doubtful}, plan.Destroy, `
Stopped: 1 of 34 done, 1 failed, 1 in doubt, 31 not begun. The state is saved, serial 7.
  failed     sim_a.bad["x"]
  in doubt   sim_a.doubtful
  not begun  module.m[0…2].sim_b.after[0…9] ×30
             sim_b.behind
             because of sim_a.bad["x"], sim_a.doubtful
  next       weir recover
`},
	} {
		p.Mode, e.Doubts = tt.mode, tt.doubts
		var b strings.Builder
		if err := e.Write(&b, Options{}); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("got:\n%s\nwant:\n%s", b.String(), tt.want)
		}
	}
	if got := e.Totals(); got.Done != 1 || got.Failed != 1 || got.InDoubt != 1 || got.NotBegun != 31 || got.Serial != 7 || !got.Saved {
		t.Errorf("%+v", got)
	} else if text := fmt.Sprintf("%v %v %d %s %v %s", got.FailedAt, got.InDoubtAt, len(got.NotBegunAt), got.NotBegunAt[30], got.BecauseOf, got.Next); text != `[sim_a.bad["x"]] [sim_a.doubtful] 31 sim_b.behind [sim_a.bad["x"] sim_a.doubtful] weir recover` {
		t.Error(text)
	}
}

// TestUnprovisioned: an object whose provisioners have failed, or weren't started before an
// interrupt, isn't done.
func TestUnprovisioned(t *testing.T) {
	p := &plan.Plan{Graph: &execgraph.Graph{Steps: []execgraph.Step{
		{Kind: execgraph.Apply}, {Kind: execgraph.Provision, After: []execgraph.ID{0}, Takes: []execgraph.ID{0}}, {Kind: execgraph.Apply},
	}}}
	for name, endings := range map[string]map[execgraph.ID]event.Ending{
		"failed":      {0: event.Done, 1: event.Failed, 2: event.Done},
		"skipped":     {0: event.Done, 1: event.Skipped, 2: event.Done},
		"interrupted": {0: event.Done, 2: event.Done},
	} {
		e := End{Plan: p, Endings: endings}
		if got := e.Totals(); got.Done != 1 || got.Failed != 1 || got.NotBegun != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
