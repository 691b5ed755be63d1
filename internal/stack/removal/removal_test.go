package removal

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/stack/shardedstate"
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

func all(addr.Module) bool { return true }

func TestUnclaimed(t *testing.T) {
	state := []string{`component.a["x"].t_r.r`, `component.a["y"].t_r.r`, `component.b.module.m.t_r.r`, `stack.s["k"].component.c.t_r.r`}
	tests := []struct {
		name          string
		modules, gone []addr.Module
		want          string
	}{
		{"all there", []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`, `stack.s["k"]`, `stack.s["k"].component.c`}, nil, ""},
		{"one instance", []addr.Module{`component.a["x"]`, `component.b`, `stack.s["k"]`, `stack.s["k"].component.c`}, nil, `component.a["y"]`},
		{"a stack as a whole", []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`}, nil, `stack.s["k"]`},
		{"within a stack", []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`, `stack.s["k"]`}, nil, `stack.s["k"].component.c`},
		{"not known", []addr.Module{`component.a[*]`, `component.b`, `stack.s[*]`}, nil, ""},
		{"claimed", nil, []addr.Module{`component.a["x"]`, `component.a["y"]`, `component.b`, `stack.s["k"]`}, ""},
		{"claimed without a key", []addr.Module{`component.b`}, []addr.Module{`component.a`, `stack.s`}, ""},
		{"another one is claimed", []addr.Module{`component.a["x"]`, `component.b`}, []addr.Module{`component.a["z"]`, `stack.s["k"]`}, `component.a["y"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, d := range Unclaimed(prior(t, state...), append(test.modules, addr.Root), test.gone, all, &program.Tree{Program: &program.Program{}}, shardedstate.Memory{}) {
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

// The index has enough for a block that works as it is pasted.
func TestBlockFromMemory(t *testing.T) {
	kept := shardedstate.Memory{Components: map[string]shardedstate.Origin{
		"component.a": {Source: "./m", Providers: map[string]string{
			"sim": "provider.sim.by[each.key]", "sim.other": "provider.sim.other[each.key]",
		}},
	}}
	before := prior(t, `component.a["x"].sim_object.o`)
	for _, o := range before.Objects {
		o.Provider = addr.ProviderConfig{Provider: addr.Provider{Type: "sim"}, Alias: "other", Key: addr.StringKey("north")}
	}
	diags := Unclaimed(before, []addr.Module{addr.Root}, nil, all, &program.Tree{Program: &program.Program{}}, kept)
	if len(diags) != 1 {
		t.Fatalf("got %v", diags)
	}
	want := `    removed {
      for_each  = toset(["x"])
      from      = component.a[each.key]
      source    = "./m"
      providers = {
        sim       = provider.sim.by[each.key]
        sim.other = provider.sim.other["north"]
      }
    }
`
	if !strings.Contains(diags[0].Detail, want) {
		t.Errorf("got %s", diags[0].Detail)
	}
}
