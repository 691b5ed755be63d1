package statefile

import (
	"bytes"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// TestUses writes and reads dependencies that are narrowed to instances, and reads what other
// programs leave of them.
func TestUses(t *testing.T) {
	resource := func(text string) addr.Resource {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		return i.Resource
	}
	one, err := addr.ParseInstance(`module.m["x"].thing.c[3]`)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := addr.ParseProviderConfig(`provider["registry.opentofu.org/example/thing"]`)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := resource("thing.a"), resource("thing.b"), resource("module.m.thing.c")
	for _, test := range []struct {
		name string
		deps []addr.Resource
		uses []state.Uses
		file string // in the text, empty for nothing
	}{
		{"all instances", []addr.Resource{a, b}, nil, ""},
		{"the same key", []addr.Resource{a, b}, []state.Uses{{Resource: b, SameKey: true}}, "[0,1]"},
		{"one in a module", []addr.Resource{c, a}, []state.Uses{{Resource: c, Instances: []addr.Instance{one}}}, `[["module.m[\"x\"].thing.c[3]"],0]`},
		{"through others only", []addr.Resource{a, b}, []state.Uses{{Resource: a}, {Resource: b, SameKey: true}}, "[[],1]"},
		{"nothing, unlike others of the block", nil, []state.Uses{}, "[]"},
		{"what isn't a dependency", []addr.Resource{a}, []state.Uses{{Resource: b, SameKey: true}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := state.Empty()
			at := addr.Object{Instance: resource("thing.user").Instance(addr.IntKey(3))}
			s.Objects[at] = &state.Object{Provider: provider, JSON: []byte("{}"), Dependencies: test.deps, Uses: test.uses}
			text, err := Bytes(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(text), `"dependency_keys": `+test.file); got != (test.file != "") {
				t.Errorf("%q is %v in\n%s", test.file, got, text)
			}
			read, diags := Read(text, "a state")
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			want := test.uses
			if test.file == "" {
				want = nil
			}
			if got := read.Objects[at].Uses; !state.SameUses(got, want) {
				t.Errorf("read %v, want %v", got, want)
			}
			again, err := Bytes(read)
			if err != nil || !bytes.Equal(text, again) {
				t.Errorf("written again: %v\n%s", err, again)
			}
		})
	}
	for _, damaged := range []string{`[1]`, `{}`, `["a"]`, `[["no address"],0]`, `[2,0]`} {
		if uses, err := usesOf([]byte(damaged), []addr.Resource{a, b}); err == nil || uses != nil {
			t.Errorf("%s narrows dependencies to %v", damaged, uses)
		}
	}
}
