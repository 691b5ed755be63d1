package addr

import (
	"cmp"
	"testing"
)

// bySteps is what Compare has to give.
func bySteps(m, o Module) int {
	a, b := m.Steps(), o.Steps()
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	for i := range a {
		if c := cmp.Or(a[i].Call.Compare(b[i].Call), a[i].Key.Compare(b[i].Key)); c != 0 {
			return c
		}
	}
	return 0
}

func TestModuleOrder(t *testing.T) {
	calls := []Call{
		Mod("a"), Mod("a-b"), Mod("b"), Mod("removed-stack"), Mod("a-"), {Kind: Component, Name: "a-"}, {Kind: Stack, Name: "removed-a"},
	}
	var all []Module
	for _, keys := range [][]Key{
		{NoKey, IntKey(2), IntKey(10), AnyKey},
		{StringKey(""), StringKey("a"), StringKey("a.module.b"), StringKey(`a"]\`), StringKey("${a}"), StringKey("%%{"), StringKey("a\nb")},
	} {
		for _, key := range keys {
			for _, call := range calls {
				one := FromSteps([]Step{{call, key}})
				all = append(all, one, one.Child(Mod("a"), NoKey), one.Child(Mod("b"), key))
			}
		}
	}
	all = append(all, Root)
	for _, m := range all {
		if back, err := ParseModule(m.String()); m != Root && (err != nil || back != m) {
			t.Errorf("%s is read as %s, %v", m, back, err)
		}
		for _, o := range all {
			if got, want := m.Compare(o), bySteps(m, o); got != want {
				t.Errorf("%s and %s compare as %d, not %d", m, o, got, want)
			}
		}
	}
}

func TestHasAny(t *testing.T) {
	for m, want := range map[Module]bool{
		Root:                                   false,
		Root.Child(Mod("a"), AnyKey):           true,
		Root.Child(Mod("a"), StringKey("[*]")): false,
		Root.Child(Mod("a"), StringKey("[*]")).Child(Mod("b"), AnyKey): true,
	} {
		if got := m.HasAny(); got != want {
			t.Errorf("%s: got %t", m, got)
		}
	}
}

func TestParseMember(t *testing.T) {
	for text, want := range map[string]string{
		"var.a":                          " var a",
		`module.m["a.b"].output.o`:       `module.m["a.b"] output o`,
		"component.c.check.x-y":          "component.c check x-y",
		"output":                         "",
		`module.m.output.o["k"]`:         "",
		`module.m["a.b].output.o`:        "",
		"module.removed-zone.var.module": "module.removed-zone var module",
	} {
		m, kind, name, err := ParseMember(text)
		if got := m.String() + " " + kind + " " + name; err == nil && got != want || err != nil && want != "" {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

func TestWithoutKey(t *testing.T) {
	for path, want := range map[string]string{
		"a": "a", "a.b": "a.b", `a["x"].b`: `a["x"].b`, `a["x"].b["y].z["]`: `a["x"].b`, `a[0]`: "a", `removed2-stack.s["k"]`: "removed2-stack.s", "": "", "a[": "a[",
	} {
		if got := WithoutKey(path); got != want {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

// An address that could be a component or a resource is the component, and what is written comes
// back as it was.
func TestParseTarget(t *testing.T) {
	for text, want := range map[string]string{
		"component.a":                   "module component.a",
		`component.a["x"]`:              `module component.a["x"]`,
		"stack.s.component.a":           "module stack.s.component.a",
		"resource.component.a":          "resource resource.component.a",
		"resource.component.a[0]":       "resource instance resource.component.a[0]",
		"module.m.resource.stack.s":     "resource module.m.resource.stack.s",
		"data.component.a":              "resource data.component.a",
		"component.a.sim_object.o":      "resource component.a.sim_object.o",
		"resource.sim_object.o":         "resource sim_object.o",
		`module.m[0].sim_object.o["k"]`: `resource instance module.m[0].sim_object.o["k"]`,
	} {
		target, err := ParseTarget(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := target.Kind() + " " + target.String(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		again, err := ParseTarget(target.String())
		if err != nil || again != target {
			t.Errorf("%s: %q is read as %v, %v", text, target, again, err)
		}
	}
	if i, err := ParseInstance("component.a"); err != nil || i.Name.Type != "component" {
		t.Errorf("states have no components at the end of addresses: got %v, %v", i, err)
	}
}
