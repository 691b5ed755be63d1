package edit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

var sim = addr.OpenTofu.Provider("sim")

// stateOf has an object for each text: an address, "!" for a tainted one, and
// what it depends on after "<".
func stateOf(t *testing.T, texts ...string) *state.Snapshot {
	t.Helper()
	s := state.Empty()
	for _, text := range texts {
		text, tainted := strings.CutSuffix(text, "!")
		text, dependency, _ := strings.Cut(text, "<")
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		o := &state.Object{JSON: []byte(`{"id":"` + text + `"}`), Tainted: tainted}
		o.Provider.Provider = sim
		if dependency != "" {
			d, err := addr.ParseTarget(dependency)
			if err != nil {
				t.Fatal(err)
			}
			o.Dependencies = []addr.Resource{d.Instance().Resource}
		}
		s.Objects[addr.Object{Instance: i}] = o
	}
	return s
}

// show is the inverse, with the id that each object had first.
func show(s *state.Snapshot) string {
	var list []string
	for _, at := range s.Addresses() {
		o := s.Objects[at]
		text := fmt.Sprintf("%s=%s", at, attributeText(o, "id"))
		for _, d := range o.Dependencies {
			text += "<" + d.String()
		}
		if o.Tainted {
			text += "!"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestMoves(t *testing.T) {
	have := []string{"a.x", "a.y[0]", "a.y[1]", "a.z<a.x", "module.m.a.x", "module.m.module.n.a.x"}
	for _, c := range []struct{ from, to, want string }{
		{"a.x", "a.w", "a.w=a.x a.y[0]=a.y[0] a.y[1]=a.y[1] a.z=a.z<a.w module.m.a.x=module.m.a.x module.m.module.n.a.x=module.m.module.n.a.x"},
		{"a.y", "a.v", "a.v[0]=a.y[0] a.v[1]=a.y[1] a.x=a.x a.z=a.z<a.x module.m.a.x=module.m.a.x module.m.module.n.a.x=module.m.module.n.a.x"},
		{"a.y[0]", "a.y[2]", "a.x=a.x a.y[1]=a.y[1] a.y[2]=a.y[0] a.z=a.z<a.x module.m.a.x=module.m.a.x module.m.module.n.a.x=module.m.module.n.a.x"},
		{"module.m", `module.k["x"]`, `a.x=a.x a.y[0]=a.y[0] a.y[1]=a.y[1] a.z=a.z<a.x module.k["x"].a.x=module.m.a.x module.k["x"].module.n.a.x=module.m.module.n.a.x`},
		{"a.x", "b.x", "Cannot move a.x to b.x: resource types don't match."},
		{"a.x", "a.z", "Cannot move to a.z: there is already a resource instance at that address in the current state."},
		{"a.y", "a.v[0]", "Cannot move a.y to a.v[0]: the source has several instances, and the destination is one."},
		{"a.none", "a.v", "Cannot move a.none: does not match anything in the current state."},
		{"module.m", "a.v", "Cannot move module.m to a.v: both have to be modules, or both resources."},
		{"a.*", "module.k", "module.k.a.x=a.x module.k.a.y[0]=a.y[0] module.k.a.y[1]=a.y[1] module.k.a.z=a.z<module.k.a.x module.m.a.x=module.m.a.x module.m.module.n.a.x=module.m.module.n.a.x"},
		{"a.y[*]", "a.v[*]", "a.v[0]=a.y[0] a.v[1]=a.y[1] a.x=a.x a.z=a.z<a.x module.m.a.x=module.m.a.x module.m.module.n.a.x=module.m.module.n.a.x"},
		{"**.a.x", "**.a.w", "a.w=a.x a.y[0]=a.y[0] a.y[1]=a.y[1] a.z=a.z<a.w module.m.a.w=module.m.a.x module.m.module.n.a.w=module.m.module.n.a.x"},
		{"module.*", "module.k*", "a.x=a.x a.y[0]=a.y[0] a.y[1]=a.y[1] a.z=a.z<a.x module.km.a.x=module.m.a.x module.km.module.n.a.x=module.m.module.n.a.x"},
		{"a.*", "b.*", "Cannot move a.x to b.x: resource types don't match."},
		{"a.y[*]", "a.*", "Cannot move a.y[0] to a.*: invalid address \"a.0\": a name is expected at position 3."},
		{"a.y[*]", "a.x", "Cannot move a.y[*] to a.x: a.y[*] names any number of things, and a.x is one: write a star where each of the source's stands, or for resources the module that they move to."},
		{"**.a.x", "module.k", "Cannot move module.m.a.x to module.k.a.x: a.x would get that address too."},
		{"a.*", "a.*", "Cannot move to a.x: there is already a resource instance at that address in the current state."},
		{"data.*.x", "data.*.y", "Cannot move data.*.x to data.*.y: only managed resources can be moved."},
		{"a.none*", "a.v*", "The state has no resource that the pattern names. There are a.x, a.y, a.z, module.m.a.x, module.m.module.n.a.x."},
	} {
		s := stateOf(t, have...)
		before := show(s)
		moves, refused := Moves(s, s, c.from, c.to)
		got := ""
		if refused != nil {
			got = refused[0].Detail
		} else {
			next, _ := Moved(s, s, moves)
			got = show(next)
		}
		if got != c.want {
			t.Errorf("%s to %s: got\n%s\nwant\n%s", c.from, c.to, got, c.want)
		}
		if show(s) != before {
			t.Errorf("%s to %s: the state before has changed", c.from, c.to)
		}
	}
}

func TestMovedElsewhere(t *testing.T) {
	s, other := stateOf(t, "a.x", "a.y"), stateOf(t, "a.z")
	moves, refused := Moves(s, other, "a.x", "a.w")
	if refused != nil {
		t.Fatal(refused)
	}
	from, to := Moved(s, other, moves)
	if got := show(from) + ", " + show(to); got != "a.y=a.y, a.w=a.x a.z=a.z" {
		t.Error(got)
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct{ targets, want, removed string }{
		{"a.y", "a.x=a.x module.m.a.x=module.m.a.x", "[a.y[0] a.y[1]]"},
		{"module.m a.x", "a.y[0]=a.y[0] a.y[1]=a.y[1]", "[module.m.a.x a.x]"},
		{"a.x a.none a.y", "Invalid target address", "[a.x]"},
		{"**.a.x", "a.y[0]=a.y[0] a.y[1]=a.y[1]", "[a.x module.m.a.x]"},
		{"b.*", "Nothing matches b.*", "[]"},
	} {
		targets, diags := Targets(strings.Fields(c.targets))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		next, removed, diags := Remove(stateOf(t, "a.x", "a.y[0]", "a.y[1]", "module.m.a.x"), targets)
		got := ""
		if diags.HasErrors() {
			got = diags[0].Summary
		} else {
			got = show(next)
		}
		if got != c.want || fmt.Sprint(removed) != c.removed {
			t.Errorf("%s: got %s, %v", c.targets, got, removed)
		}
	}
}

func TestMark(t *testing.T) {
	for _, c := range []struct {
		have, at, want string
		tainted        bool
	}{
		{"a.x", "a.x", "a.x=a.x!", true},
		{"a.x!", "a.x", "a.x=a.x", false},
		{"a.x", "a.x", "Resource instance is not tainted", false},
		{"a.x", "a.y", "Resource instance a.y was not found in the state. Did you mean a.x?", true},
		{"a.x", "bcd.y", "Resource instance bcd.y was not found in the state.", true},
		{"a.x b.y! b.z", "b.*", "a.x=a.x b.y=b.y! b.z=b.z!", true},
		{"a.x b.y! b.z", "*.*", "a.x=a.x b.y=b.y b.z=b.z", false},
		{"a.x b.y!", "a.*", "Resource instance is not tainted", false},
		{"a.x", "b.*", "The state has no resource that the pattern names. There are a.x.", true},
	} {
		at, diags := Markable(c.at)
		if diags != nil {
			t.Fatal(diags)
		}
		next, _, got, diags := Mark(stateOf(t, strings.Fields(c.have)...), at, c.tainted)
		switch {
		case diags.HasErrors():
			got = diags[0].Summary
		case next != nil:
			got = show(next)
		}
		if got != c.want {
			t.Errorf("%s %v: got %s", c.have, c.tainted, got)
		}
	}
}

func TestNamed(t *testing.T) {
	s := stateOf(t, "a.x", "a.y[0]", "a.y[1]", "module.m.a.z")
	for text, want := range map[string]string{
		"a.x":        "[a.x]",
		"**.a.z":     "[module.m.a.z]",
		"a.*[1]":     "[a.y[1]]",
		"a.y[*]":     "[a.y[0] a.y[1]]",
		"b*.x":       "The state has no resource that the pattern names. There are a.x, a.y, module.m.a.z.",
		"a.w":        "This command requires that the address references one specific instance. To view the available instances, use \"state list\". Please modify the address to reference a specific instance. Did you mean a.x?",
		"module.m":   "\"module.m\" is a module; the address of a resource instance is needed. This command requires that the address references one specific instance. To view the available instances, use \"state list\".",
		"module.m[*": "invalid address \"module.m[*\": a closing bracket is missing. This command requires that the address references one specific instance. To view the available instances, use \"state list\".",
	} {
		list, diags := Named(s, text)
		got := fmt.Sprint(list)
		if diags.HasErrors() {
			got = diags[0].Detail
		}
		if got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

func TestPush(t *testing.T) {
	version := func(lineage string, serial uint64, objects ...string) *state.Snapshot {
		s := stateOf(t, objects...)
		s.Lineage, s.Serial = lineage, serial
		return s
	}
	present := version("l", 5, "a.x")
	for _, c := range []struct {
		pushed *state.Snapshot
		force  bool
		want   string // a serial, or a part of the refusal
	}{
		{version("l", 6, "a.y"), false, "6"},
		{version("l", 5, "a.x"), false, "5"},
		{version("l", 5, "a.y"), false, "same serial"},
		{version("l", 5, "a.y"), true, "6"},
		{version("l", 4, "a.x"), false, "newer state"},
		{version("other", 9, "a.x"), false, "unrelated state"},
		{version("other", 2, "a.x"), true, "2"},
	} {
		next, diags := Push(present, c.pushed, c.force)
		got := ""
		if diags.HasErrors() {
			got = diags[0].Detail
		} else {
			got = fmt.Sprint(next.Serial)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %d: got %s, want %s", c.pushed.Lineage, c.pushed.Serial, got, c.want)
		}
	}
}

func TestReplaceProvider(t *testing.T) {
	s := stateOf(t, "a.x[0]", "a.x[1]", "a.y")
	other := addr.OpenTofu.Provider("other")
	next, changed := ReplaceProvider(s, sim, other)
	if fmt.Sprint(changed) != "[a.x a.y]" || len(Differences(s, next)) != 3 {
		t.Errorf("%v, %v", changed, Differences(s, next))
	}
	if _, changed = ReplaceProvider(s, other, sim); changed != nil {
		t.Error(changed)
	}
}

func TestSelect(t *testing.T) {
	s := stateOf(t, "a.x", "a.y[0]", "module.m.a.x")
	for _, c := range []struct{ target, id, want string }{
		{"", "", "[a.x a.y[0] module.m.a.x]"},
		{"module.m", "", "[module.m.a.x]"},
		{"", "a.y[0]", "[a.y[0]]"},
		{"a.x", "none", "[]"},
	} {
		targets, _ := Targets(strings.Fields(c.target))
		got := Select(s, targets, c.id)
		slices.SortFunc(got, func(a, b addr.Object) int { return a.Compare(b) })
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q %q: got %v", c.target, c.id, got)
		}
	}
}
