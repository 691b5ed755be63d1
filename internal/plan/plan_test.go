package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
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
		p := &Plan{Changes: []*Change{{Addr: a, Action: action}, {Addr: at(t, "data.sim_lookup.d"), Action: action}}}
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
	a, was := at(t, "sim_object.a"), at(t, "sim_object.b").Instance
	some := cty.TupleVal([]cty.Value{cty.UnknownVal(cty.String), cty.True})
	for what, c := range map[string]struct {
		plan Plan
		want bool
	}{
		"nothing":                  {Plan{}, false},
		"an object that stays":     {Plan{Changes: []*Change{{Addr: a}}}, false},
		"data that is read":        {Plan{Changes: []*Change{{Addr: a, Action: Read}}}, false},
		"an object that changes":   {Plan{Changes: []*Change{{Addr: a, Action: Update}}}, true},
		"an object that moved":     {Plan{Changes: []*Change{{Addr: a, From: &was}}}, true},
		"an object that is taken":  {Plan{Changes: []*Change{{Addr: a, Importing: &Importing{}}}}, true},
		"an output that stays":     {Plan{Outputs: []*OutputChange{{Name: "o"}}}, false},
		"an output that changes":   {Plan{Outputs: []*OutputChange{{Name: "o", Action: Update}}}, true},
		"an output to be known":    {Plan{Outputs: []*OutputChange{{Name: "o", Action: Create, After: some}}}, true},
		"one that stays unknown":   {Plan{Mode: RefreshOnly, Outputs: []*OutputChange{{Name: "o", Action: Create, After: some}}}, false},
		"one that is refreshed":    {Plan{Mode: RefreshOnly, Outputs: []*OutputChange{{Name: "o", Action: Create, After: cty.True}}}, true},
		"one that is gone":         {Plan{Mode: RefreshOnly, Outputs: []*OutputChange{{Name: "o", Action: Delete, After: cty.NullVal(cty.String)}}}, true},
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

// TestInvocations: labels distinguish invocations, and what somebody has asked for comes
// first.
func TestInvocations(t *testing.T) {
	around := &Invocation{Addr: at(t, "sim_note.n").Instance, Object: at(t, "sim_object.a").Instance, Event: actiontrigger.AfterCreate, Block: 1}
	later := &Invocation{Addr: around.Addr, Object: around.Object, Event: actiontrigger.AfterCreate, Block: 1, Index: 1}
	asked := &Invocation{Addr: around.Addr}
	called := &Invocation{Addr: around.Addr, Object: around.Object}
	seen := map[string]bool{}
	for _, i := range []*Invocation{around, later, asked, called} {
		seen[i.Label()] = true
	}
	if len(seen) != 4 {
		t.Errorf("labels %v", seen)
	}
	list := []*Invocation{later, around, asked}
	slices.SortFunc(list, (*Invocation).Compare)
	if list[0] != asked || list[1] != around {
		t.Errorf("%v", list)
	}
}

// TestByComponent: counts of a stack are those of its component instances.
func TestByComponent(t *testing.T) {
	component := addr.Root.Child(addr.Call{Kind: addr.Component, Name: "c"}, addr.StringKey("k"))
	inside := at(t, "sim_object.a")
	inside.Module = component
	p := &Plan{Changes: []*Change{{Addr: inside, Action: Create}, {Addr: at(t, "sim_object.b"), Action: Delete}}}
	if got := p.ByComponent(); len(got) != 1 || got[component] != (Counts{Add: 1}) {
		t.Errorf("%v", got)
	}
}

// TestUntouched: what a plan changes isn't replaced again by the next one.
func TestUntouched(t *testing.T) {
	a, b, c := at(t, "sim_object.a"), at(t, "sim_object.b"), at(t, "sim_object.c")
	p := &Plan{Changes: []*Change{{Addr: a, Action: Update}, {Addr: b}}}
	list := []addr.Instance{a.Instance, b.Instance, c.Instance}
	if got := p.Untouched(list); !slices.Equal(got, []addr.Instance{b.Instance, c.Instance}) || len(list) != 3 || list[0] != a.Instance {
		t.Errorf("%v of %v", got, list)
	}
}

// TestLeftOut has ages in words.
func TestLeftOut(t *testing.T) {
	planned := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	const one, seven = "1 object wasn't read again: it was within the last minute, and nothing is to be done with it (-refresh=auto).", "7 objects weren't read again: they were within the last %s, and nothing is to be done with them (-refresh=auto)."
	for want, l := range map[string]struct {
		objects   int
		ago       time.Duration
		unplanned int
	}{
		one: {1, time.Second, 0},
		one + " Nor was it planned again, as nothing that it comes from was edited.": {1, time.Second, 1},
		fmt.Sprintf(seven, "5 minutes"):                                              {7, 5 * time.Minute, 0},
		fmt.Sprintf(seven, "3 hours"):                                                {7, 150 * time.Minute, 0},
		fmt.Sprintf(seven, "minute") + " Nor were they planned again, as nothing that they come from was edited.":            {7, time.Second, 7},
		fmt.Sprintf(seven, "minute") + " 3 of them weren't planned again either, as nothing that they come from was edited.": {7, time.Second, 3},
	} {
		left := &LeftOut{l.objects, planned.Add(-l.ago)}
		if got := left.Say(planned, l.unplanned); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestReaches: a limited plan reports the components of a stack where something goes.
func TestReaches(t *testing.T) {
	if all := (&Plan{}).Reaches(); !all(addr.Root) {
		t.Error("a whole plan tells of everything")
	}
	component := func(name string) addr.Module {
		return addr.FromSteps([]addr.Step{{Call: addr.Call{Kind: addr.Component, Name: name}}})
	}
	in := func(name string) addr.Object {
		o := at(t, "sim_object.a")
		o.Module = component(name)
		return o
	}
	limited := (&Plan{Targets: make([]addr.Target, 1), Changes: []*Change{{Addr: in("gone"), Action: Delete}, {Addr: in("made"), Action: Create}}}).Reaches()
	if !limited(component("gone")) || limited(component("made")) || limited(component("other")) {
		t.Error("it tells of what goes alone")
	}
}

// TestShare gives changes that say the same one copy of it, and only those.
func TestShare(t *testing.T) {
	provider := func(name string) *addr.ProviderConfig {
		return &addr.ProviderConfig{Provider: addr.OpenTofu.Provider(name)}
	}
	uses := func(key string) []Uses { return []Uses{{Resource: 1, Instances: []addr.Instance{at(t, key).Instance}}} }
	one := &Change{Addr: at(t, "a.b[0]"), Provider: provider("a"), Dependencies: []int32{0, 1}, Uses: uses("c.d[0]")}
	same := &Change{Addr: at(t, "a.b[1]"), Provider: provider("a"), Dependencies: []int32{0, 1}, Uses: uses("c.d[0]")}
	same.Share(one)
	if same.Provider != one.Provider || &same.Dependencies[0] != &one.Dependencies[0] || &same.Uses[0] != &one.Uses[0] {
		t.Errorf("%+v doesn't share with %+v", same, one)
	}
	other := &Change{Addr: at(t, "a.c"), Provider: provider("b"), Dependencies: []int32{0}, Uses: uses("c.d[1]")}
	other.Share(one)
	if other.Provider == one.Provider || len(other.Dependencies) != 1 || SameUses(other.Uses, one.Uses) || other.Addr.Name.Name != "c" {
		t.Errorf("%+v took something else", other)
	}
}

// TestDependencies names what a change depends on, as lists of numbers say it.
func TestDependencies(t *testing.T) {
	p := &Plan{Resources: []addr.Resource{at(t, "a.b").Resource, at(t, "c.d").Resource}}
	plain := &Change{Addr: at(t, "x.y")}
	narrowed := &Change{Addr: at(t, "x.z[1]"), Dependencies: []int32{0, 1}, Uses: []Uses{{Resource: 0, SameKey: true}, {Resource: 1, Instances: []addr.Instance{at(t, "c.d[2]").Instance}}}}
	p.Changes = []*Change{plain, narrowed}
	if p.DependenciesOf(plain) != nil || p.UsesOf(plain) != nil {
		t.Error("a change without dependencies has some")
	}
	if got := fmt.Sprint(p.DependenciesOf(narrowed)); got != "[a.b c.d]" {
		t.Errorf("dependencies %s", got)
	}
	if got := fmt.Sprint(p.UsesOf(narrowed)); got != "[{a.b true []} {c.d false [c.d[2]]}]" {
		t.Errorf("uses %s", got)
	}
	if SameUses(nil, []Uses{}) || !SameUses(narrowed.Uses, slices.Clone(narrowed.Uses)) {
		t.Error("no list and an empty one say different things")
	}
}

func TestPrevious(t *testing.T) {
	from := at(t, "a.old").Instance
	for _, test := range []struct {
		change Change
		was    string
		moved  bool
	}{
		{Change{Addr: at(t, "a.new")}, "a.new", false},
		{Change{Addr: at(t, "a.new"), From: &from}, "a.old", true},
		{Change{Addr: at(t, "a.old"), From: &from}, "a.old", false},
	} {
		if was := test.change.Previous().String(); was != test.was || test.change.Moved() != test.moved {
			t.Errorf("%s was %s, moved %t; want %s, %t", test.change.Addr, was, test.change.Moved(), test.was, test.moved)
		}
	}
}

// TestLeftOutWith keeps the earliest time.
func TestLeftOutWith(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	var none *LeftOut
	if none.With(0, early) != nil {
		t.Error("nothing was left out")
	}
	if got := none.With(2, late).With(3, early).With(0, time.Unix(0, 0)); got.Objects != 5 || !got.Since.Equal(early) {
		t.Errorf("%+v", got)
	}
}

func TestLabel(t *testing.T) {
	text := cty.StringVal
	for want, i := range map[string]Importing{
		"id=x": {ID: "x"},
		"identity=a=1,b=[x,true],c=null,d=(sensitive value)": {Identity: cty.ObjectVal(map[string]cty.Value{
			"b": cty.TupleVal([]cty.Value{text("x"), cty.True}), "a": cty.NumberIntVal(1), "c": cty.NullVal(cty.String), "d": text("s").Mark("sensitive"),
		})},
		"identity=a=(known after apply)": {Identity: cty.ObjectVal(map[string]cty.Value{"a": cty.UnknownVal(cty.String)})},
	} {
		if name, value := i.Label(); name+"="+value != want {
			t.Errorf("got %s=%s, want %s", name, value, want)
		}
	}
}
