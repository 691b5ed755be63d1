package rebase

import (
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

func object(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

// stateOf has objects and outputs by name: "t.a=1" is an object, "t.a=1<t.b" one that depends
// on another, and "o=1" an output.
func stateOf(t *testing.T, text string) *state.Snapshot {
	t.Helper()
	s := state.Empty()
	for _, one := range strings.Fields(text) {
		name, value, _ := strings.Cut(one, "=")
		if !strings.Contains(name, ".") {
			s.Outputs[name] = state.Output{Value: cty.StringVal(value)}
			continue
		}
		value, needs, _ := strings.Cut(value, "<")
		o := &state.Object{JSON: []byte(`{"id":"` + value + `"}`)}
		if needs != "" {
			o.Dependencies = []addr.Resource{object(t, needs).Resource}
		}
		s.Objects[object(t, name)] = o
	}
	return s
}

// show is the form that stateOf reads, without dependencies.
func show(s *state.Snapshot) string {
	var all []string
	for at, o := range s.Objects {
		all = append(all, at.String()+"="+strings.Trim(strings.TrimPrefix(string(o.JSON), `{"id":`), `"}`))
	}
	for name, o := range s.Outputs {
		all = append(all, name+"="+o.Value.AsString())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestOnto(t *testing.T) {
	for name, c := range map[string]struct {
		target, exclude    string // "" for none
		scope              string
		ends               string // what the plan deletes
		outputs            string // those in the plan
		before, found, now string // found is before where it is empty
		want, changed      string
	}{
		"nothing":                             {before: "t.a=1 o=1", now: "t.a=1 o=1", want: "o=1 t.a=1"},
		"a whole plan reads all":              {before: "t.a=1 t.b=1", now: "t.a=1 t.b=2", changed: "t.b"},
		"a whole plan reads what isn't there": {before: "t.a=1", now: "t.a=1 t.b=2", changed: "t.b"},
		"a whole plan reads outputs":          {before: "o=1", now: "o=2 p=1", changed: "output.o output.p"},
		"another object":                      {target: "t.a", scope: "t.a", before: "t.a=1 t.b=1", now: "t.a=1 t.b=2", want: "t.a=1 t.b=2"},
		"another object is new":               {target: "t.a", scope: "t.a", before: "t.a=1", now: "t.a=1 t.b=2", want: "t.a=1 t.b=2"},
		"another object is gone":              {target: "t.a", scope: "t.a", before: "t.a=1 t.b=1", now: "t.a=1", want: "t.a=1"},
		"the object":                          {target: "t.a", scope: "t.a", before: "t.a=1 t.b=1", now: "t.a=2 t.b=2", changed: "t.a"},
		"the object is gone":                  {target: "t.a", scope: "t.a", before: "t.a=1", now: "t.b=1", changed: "t.a"},
		"the object was created":              {target: "t.a", scope: "t.a", before: "t.b=1", now: "t.a=1 t.b=1", changed: "t.a"},
		"what the object needs":               {target: "t.a", scope: "t.a t.b", before: "t.a=1 t.b=1", now: "t.a=1 t.b=2", changed: "t.b"},
		"another instance":                    {target: "t.a[0]", scope: "t.a[0]", before: "t.a[0]=1 t.a[1]=1", now: "t.a[0]=1 t.a[1]=2 t.a[2]=2", want: "t.a[0]=1 t.a[1]=2 t.a[2]=2"},
		"a new instance of the target":        {target: "t.a", scope: "t.a[0]", before: "t.a[0]=1", now: "t.a[0]=1 t.a[1]=1", changed: "t.a[1]"},
		"what is excluded":                    {exclude: "t.b", scope: "t.a", before: "t.a=1 t.b=1", now: "t.a=1 t.b=2", want: "t.a=1 t.b=2"},
		"what isn't excluded":                 {exclude: "t.b", scope: "t.a", before: "t.a=1 t.b=1", now: "t.a=1 t.b=1 t.c=1", changed: "t.c"},
		"a new user of what ends":             {target: "t.a", scope: "t.a", ends: "t.a", before: "t.a=1", now: "t.a=1 t.b=1<t.a", changed: "t.b"},
		"a new user of what stays":            {target: "t.a", scope: "t.a", before: "t.a=1", now: "t.a=1 t.b=1<t.a", want: "t.a=1 t.b=1"},
		"what refreshing found too":           {target: "t.a", scope: "t.a", before: "t.a=1", found: "t.a=2", now: "t.a=2 t.b=1", want: "t.a=2 t.b=1"},
		"what the plan rewrites":              {target: "t.a", scope: "t.a", before: "t.a=1 t.b=1", found: "t.a=1 t.b=2", now: "t.a=1 t.b=3", changed: "t.b"},
		"an output of the plan":               {target: "t.a", scope: "t.a", outputs: "o", before: "o=1", now: "o=2", changed: "output.o"},
		"another output":                      {target: "t.a", scope: "t.a", outputs: "o", before: "o=1 p=1 q=1", now: "o=1 p=2", want: "o=1 p=2"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.found == "" {
				c.found = c.before
			}
			p := &plan.Plan{Previous: stateOf(t, c.before), Refreshed: stateOf(t, c.found)}
			for list, text := range map[*[]addr.Target]string{&p.Targets: c.target, &p.Excludes: c.exclude} {
				if text != "" {
					at, err := addr.ParseTarget(text)
					if err != nil {
						t.Fatal(err)
					}
					*list = []addr.Target{at}
				}
			}
			for _, text := range strings.Fields(c.scope) {
				p.Scope = append(p.Scope, object(t, text).Instance)
			}
			if c.ends != "" {
				p.Changes = []*plan.Change{{Addr: object(t, c.ends), Action: plan.Delete}}
			}
			for _, name := range strings.Fields(c.outputs) {
				p.Outputs = append(p.Outputs, &plan.OutputChange{Name: name})
			}
			next, changed := Onto(p, stateOf(t, c.now))
			if got := strings.Join(changed, " "); got != c.changed || (next == nil) != (c.changed != "") {
				t.Fatalf("changed %q, want %q", got, c.changed)
			}
			if next != nil && show(next.Refreshed) != c.want {
				t.Errorf("got %s, want %s", show(next.Refreshed), c.want)
			}
			if show(p.Refreshed) != show(stateOf(t, c.found)) || show(p.Previous) != show(stateOf(t, c.before)) {
				t.Error("the plan itself was changed")
			}
			if next == nil {
				return
			}
			if again, changed := Onto(next, stateOf(t, c.now)); again == nil || show(again.Refreshed) != c.want {
				t.Errorf("changed %v after it was carried over", changed)
			}
		})
	}
}

// TestWithout carries over a plan that was made without a state.
func TestWithout(t *testing.T) {
	p := &plan.Plan{}
	if next, changed := Onto(p, state.Empty()); next == nil || len(changed) > 0 {
		t.Errorf("changed %v", changed)
	}
	if _, changed := Onto(p, stateOf(t, "t.a=1")); len(changed) != 1 {
		t.Errorf("changed %v", changed)
	}
}

// TestParts has what an apply writes and what it only reads.
func TestParts(t *testing.T) {
	p := &plan.Plan{Previous: stateOf(t, "t.a=1 t.b=1 t.c=1 t.d=1 data.t.x=1"), Refreshed: stateOf(t, "t.a=1 t.b=1 t.c=2 t.d=1 data.t.x=1")}
	for _, text := range []string{"t.a", "t.b", "t.e"} {
		p.Scope = append(p.Scope, object(t, text).Instance)
	}
	moved := object(t, "t.old").Instance
	p.Changes = []*plan.Change{
		{Addr: object(t, "t.a"), Action: plan.Update}, {Addr: object(t, "t.b"), Action: plan.NoOp},
		{Addr: object(t, "t.new"), From: &moved, Action: plan.NoOp},
	}
	p.Outputs = []*plan.OutputChange{{Name: "changed", Action: plan.Update}, {Name: "same", Action: plan.NoOp}}
	write, read := Parts(p)
	if got := strings.Join(write, " "); got != "output.changed t.a t.c t.new t.old" {
		t.Errorf("writes %s", got)
	}
	if got := strings.Join(read, " "); got != "output.same t.b t.e" {
		t.Errorf("reads %s", got)
	}
	p.Mode = plan.Destroy
	if write, _ := Parts(p); !slices.Contains(write, "data.t.x") {
		t.Errorf("destroying writes %s", write)
	}
}
