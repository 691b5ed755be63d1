package removal

import (
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/state"
)

func prior(t *testing.T, addresses ...string) *state.Snapshot {
	t.Helper()
	s := state.Empty()
	for _, text := range addresses {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Objects[addr.Object{Instance: i}] = &state.Object{}
	}
	return s
}

func TestUnclaimed(t *testing.T) {
	state := []string{`component.a["x"].t_r.r`, `component.a["y"].t_r.r`, `component.b.module.m.t_r.r`, `stack.s["k"].component.c.t_r.r`}
	tests := []struct {
		name    string
		modules []addr.Module
		want    string
	}{
		{"all there", []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`, `stack.s["k"]`, `stack.s["k"].component.c`}, ""},
		{"one instance", []addr.Module{`component.a["x"]`, `component.b`, `stack.s["k"]`, `stack.s["k"].component.c`}, `component.a["y"]`},
		{"a stack as a whole", []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`}, `stack.s["k"]`},
		{"within a stack", []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`, `stack.s["k"]`}, `stack.s["k"].component.c`},
		{"not known", []addr.Module{`component.a[*]`, `component.b`, `stack.s[*]`}, ""},
		{"claimed", []addr.Module{`removed-component.a["x"]`, `removed-component.a#2["y"]`, `removed-component.b`, `removed-stack.s["k"]`}, ""},
		{"claimed without a key", []addr.Module{`removed-component.a`, `component.b`, `removed-stack.s`}, ""},
		{"another one is claimed", []addr.Module{`component.a["x"]`, `removed-component.a["z"]`, `component.b`, `removed-stack.s["k"]`}, `component.a["y"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, d := range Unclaimed(prior(t, state...), append(test.modules, addr.Root), &program.Tree{Program: &program.Program{}}) {
				_, after, _ := strings.Cut(d.Detail, "objects of ")
				name, _, _ := strings.Cut(after, ", and")
				got = append(got, name)
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got %s, want %s", text, test.want)
			}
		})
	}
}

func TestAdapt(t *testing.T) {
	s := prior(t, `stack.s["k"].stack.in.component.c.t_r.r`, `stack.s["l"].component.c.t_r.r`, `component.user.t_r.r`)
	user, _ := addr.ParseInstance(`component.user.t_r.r`)
	dep, _ := addr.ParseInstance(`stack.s.stack.in.component.c.t_r.r`)
	s.Objects[addr.Object{Instance: user}] = &state.Object{Dependencies: []addr.Resource{dep.Resource}}
	if got := Adapt(s, []addr.Module{`stack.s["k"]`, `stack.s["l"]`, `removed-stack.s["k"]`}); got != s {
		t.Error("a stack that is there was taken for removed")
	}
	out := Adapt(s, []addr.Module{`stack.s["l"]`, `removed-stack.s["k"]`})
	var got []string
	for _, a := range out.Addresses() {
		got = append(got, a.String())
	}
	want := []string{`component.user.t_r.r`, `removed-stack.s["k"].removed-stack.in.component.c.t_r.r`, `stack.s["l"].component.c.t_r.r`}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var deps []string
	for _, d := range out.Objects[addr.Object{Instance: user}].Dependencies {
		deps = append(deps, d.String())
	}
	if text := strings.Join(deps, " "); text != `removed-stack.s.removed-stack.in.component.c.t_r.r stack.s.stack.in.component.c.t_r.r` {
		t.Errorf("the user depends on %s", text)
	}
}
