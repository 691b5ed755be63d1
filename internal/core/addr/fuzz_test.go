package addr

import "testing"

// FuzzRoundTrip reads any text as each kind of address. A text that is one prints as a text
// that is the same address.
func FuzzRoundTrip(f *testing.F) {
	for _, text := range []string{
		`a.b`, `a.b[0]`, `a.b["x"]`, `data.a.b`, `ephemeral.a.b[*]`, `action.a.b`, `list.a.b`, `resource.data.a["x"]`, `resource.module.a`, `resource.component.a`,
		`module.m[1].module.n["k"].a.b`, `stack.s["é"].component.c.a.b`, `a.b["$${x}\"\\\n\u00e9"]`, `module.*.a.b*`, `provider["registry.opentofu.org/a/b"].c`,
		`module.m.provider["a/b"]`, `provider.a.b`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if i, err := ParseInstance(text); err == nil {
			if again, err := ParseInstance(i.String()); err != nil || again != i {
				t.Errorf("instance %q prints as %q, which is %#v, %v", text, i.String(), again, err)
			}
		}
		if a, err := ParseTarget(text); err == nil {
			if again, err := ParseTarget(a.String()); err != nil || again != a {
				t.Errorf("target %q prints as %q, which is %#v, %v", text, a.String(), again, err)
			}
		}
		if a, err := ParsePattern(text); err == nil {
			if again, err := ParsePattern(a.String()); err != nil || again.String() != a.String() || again.IsPattern() != a.IsPattern() {
				t.Errorf("pattern %q prints as %q, which is %q, %v", text, a.String(), again.String(), err)
			}
		}
		if m, err := ParseModule(text); err == nil {
			if again, err := ParseModule(m.String()); err != nil || again != m {
				t.Errorf("module %q prints as %q, which is %q, %v", text, m.String(), again.String(), err)
			}
		}
		if c, err := ParseProviderConfig(text); err == nil {
			if again, err := ParseProviderConfig(c.String()); err != nil || again != c {
				t.Errorf("provider %q prints as %q, which is %q, %v", text, c.String(), again.String(), err)
			}
		}
	})
}
