package addr

import (
	"cmp"
	"testing"
)

// bySteps is what Compare has to give.
func bySteps(m, o Module) int {
	a, b := m.Steps(), o.Steps()
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(cmp.Compare(a[i].Name, b[i].Name), a[i].Key.Compare(b[i].Key)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func TestModuleOrder(t *testing.T) {
	step := func(name string, key Key) Step { return Step{name, key} }
	var all []Module
	for _, keys := range [][]Key{
		{NoKey, IntKey(2), IntKey(10), AnyKey},
		{StringKey(""), StringKey("a"), StringKey("a.module.b"), StringKey(`a"]\`), StringKey("${a}"), StringKey("%%{"), StringKey("a\nb")},
	} {
		for _, key := range keys {
			for _, name := range []string{"a", "a-b", "b", "component.a"} {
				one := FromSteps([]Step{step(name, key)})
				all = append(all, one, one.Child("a", NoKey), one.Child("b", key))
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
