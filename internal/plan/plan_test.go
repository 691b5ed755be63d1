package plan

import (
	"testing"

	"weir.dev/weir/internal/word/addr"
)

func at(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

// TestCounts has what each action adds to the summary.
func TestCounts(t *testing.T) {
	for action, want := range map[Action]Counts{
		NoOp: {}, Read: {}, Create: {Add: 1}, Update: {Change: 1}, Delete: {Destroy: 1}, Forget: {Forget: 1},
		DeleteThenCreate: {Add: 1, Destroy: 1}, CreateThenDelete: {Add: 1, Destroy: 1}, ForgetThenCreate: {Add: 1, Forget: 1},
	} {
		a := at(t, "sim_object.a")
		p := &Plan{Changes: []*Change{{Addr: a, Previous: a.Instance, Action: action}, {Addr: at(t, "data.sim_lookup.d"), Action: action}}}
		if got := p.Counts(); got != want {
			t.Errorf("%s: %+v, want %+v", action, got, want)
		}
		if replaces := want.Add == 1 && action != Create; action.IsReplace() != replaces {
			t.Errorf("%s replaces: %t", action, !replaces)
		}
	}
	p := &Plan{Changes: []*Change{{Addr: at(t, "sim_object.a"), Importing: &Importing{ID: "a"}}}}
	if got := p.Counts(); got != (Counts{Import: 1}) {
		t.Errorf("an import: %+v", got)
	}
}

// TestHasChanges has what makes a plan worth applying.
func TestHasChanges(t *testing.T) {
	a := at(t, "sim_object.a")
	for what, c := range map[string]struct {
		plan Plan
		want bool
	}{
		"nothing":                  {Plan{}, false},
		"an object that stays":     {Plan{Changes: []*Change{{Addr: a, Previous: a.Instance}}}, false},
		"data that is read":        {Plan{Changes: []*Change{{Addr: a, Previous: a.Instance, Action: Read}}}, false},
		"an object that changes":   {Plan{Changes: []*Change{{Addr: a, Previous: a.Instance, Action: Update}}}, true},
		"an object that moved":     {Plan{Changes: []*Change{{Addr: a, Previous: at(t, "sim_object.b").Instance}}}, true},
		"an object that is taken":  {Plan{Changes: []*Change{{Addr: a, Previous: a.Instance, Importing: &Importing{}}}}, true},
		"an output that stays":     {Plan{Outputs: []*OutputChange{{Name: "o"}}}, false},
		"an output that changes":   {Plan{Outputs: []*OutputChange{{Name: "o", Action: Update}}}, true},
		"drift":                    {Plan{Drift: []*Change{{Addr: a}}}, false},
		"drift, when it is wanted": {Plan{Mode: RefreshOnly, Drift: []*Change{{Addr: a}}}, true},
	} {
		if got := c.plan.HasChanges(); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

func TestDependenciesOf(t *testing.T) {
	a, b := at(t, "sim_object.a").Resource, at(t, "sim_object.b").Resource
	p := &Plan{Resources: []addr.Resource{a, b}}
	if got := p.DependenciesOf(&Change{Dependencies: []int32{1}}); len(got) != 1 || got[0] != b {
		t.Errorf("got %v", got)
	}
	if got := p.DependenciesOf(&Change{}); got != nil {
		t.Errorf("got %v", got)
	}
}
