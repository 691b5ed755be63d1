package program

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
)

// The nearest block counts: of the instance, its resource, a module around it;
// and only one that this instance of the module has loaded.
func TestRemovals(t *testing.T) {
	a := addr.Name{Mode: addr.Managed, Type: "t", Name: "a"}
	block := func(e Endpoint) *Removed { return &Removed{From: e} }
	whole, keyed := block(Endpoint{Name: a}), block(Endpoint{Name: a, Key: addr.StringKey("x")})
	module, inner, variant := block(Endpoint{Module: addr.Root.Child(addr.Mod("m"), addr.NoKey)}), block(Endpoint{Name: a}), block(Endpoint{Name: a})
	n := func(key string) addr.Module { return addr.Root.Child(addr.Mod("n"), addr.StringKey(key)) }
	root := &Tree{
		Program:  &Program{Removed: []*Removed{module, whole, keyed}},
		Children: map[addr.Call]*Tree{addr.Mod("m"): {Program: &Program{Removed: []*Removed{inner}}}},
		Variants: map[addr.Call][]*Tree{addr.Mod("n"): {
			{Program: &Program{}, Modules: []addr.Module{n("old")}},
			{Program: &Program{Removed: []*Removed{variant}}, Modules: []addr.Module{n("new")}},
		}},
	}
	all := root.Removals()
	for text, want := range map[string]struct {
		block *Removed
		in    addr.Module
	}{
		`t.a["x"]`:              {keyed, addr.Root},
		`t.a["y"]`:              {whole, addr.Root},
		`t.b`:                   {nil, addr.Root},
		`module.m[0].t.a`:       {inner, addr.Root.Child(addr.Mod("m"), addr.IntKey(0))},
		`module.m[0].t.b`:       {module, addr.Root},
		`module.m.module.x.t.a`: {module, addr.Root},
		`module.n["old"].t.a`:   {nil, addr.Root},
		`module.n["new"].t.a`:   {variant, n("new")},
		`module.gone.t.a`:       {nil, addr.Root},
	} {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, in := all.Find(i, nil); got != want.block || in != want.in {
			t.Errorf("%s: found %v in %s, want %v in %s", text, got, in, want.block, want.in)
		}
	}
}
