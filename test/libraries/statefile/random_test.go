// Package statefile_test writes and reads random states.
package statefile_test

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

func write(t *rapid.T, s *state.Snapshot) string {
	t.Helper()
	b, err := statefile.Bytes(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Any state comes back equal after it was written and read.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		text := write(t, s)
		back, diags := statefile.Read([]byte(text), "x")
		if err := diags.Err(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !statefile.Equal(s, back) {
			t.Fatalf("not equal:\n%s", text)
		}
		if back.Serial != s.Serial || back.Lineage != s.Lineage || back.Version != s.Version {
			t.Fatalf("%+v became %+v", s, back)
		}
		if second := write(t, back); second != text {
			t.Fatalf("not stable:\n%s\n%s", text, second)
		}
	})
}

func drawKey(t *rapid.T) addr.Key {
	switch rapid.IntRange(0, 2).Draw(t, "kind of key") {
	case 0:
		return addr.NoKey
	case 1:
		return addr.IntKey(rapid.IntRange(0, 20).Draw(t, "int key"))
	}
	return addr.StringKey(rapid.String().Draw(t, "string key"))
}

func drawState(t *rapid.T) *state.Snapshot {
	name := rapid.SampledFrom([]string{"a", "b", "c-d", "_é"})
	s := state.Empty()
	s.Serial = rapid.Uint64().Draw(t, "serial")
	s.Lineage = rapid.String().Draw(t, "lineage")
	s.Version = "1.12.6"
	drawResource := func(label string) addr.Resource {
		r := addr.Resource{Name: addr.Name{Type: name.Draw(t, label), Name: name.Draw(t, label)}}
		if rapid.Bool().Draw(t, "data") {
			r.Name.Mode = addr.Data
		}
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			r.Module = r.Module.Child(addr.Mod(name.Draw(t, "module")), drawKey(t))
		}
		return r
	}
	for range rapid.IntRange(0, 6).Draw(t, "objects") {
		at := addr.Object{Instance: drawResource("resource").Instance(drawKey(t))}
		if rapid.Bool().Draw(t, "deposed") {
			at.Deposed = fmt.Sprintf("%08x", rapid.Uint32().Draw(t, "deposed key"))
		}
		o := &state.Object{
			SchemaVersion: int64(rapid.IntRange(0, 3).Draw(t, "version")),
			Tainted:       rapid.Bool().Draw(t, "tainted"),
			Private:       rapid.SliceOf(rapid.Byte()).Draw(t, "private"),
		}
		for _, f := range o.Flags() {
			*f.Set = rapid.Bool().Draw(t, f.Name)
		}
		o.Provider = addr.ProviderConfig{Provider: addr.Provider{Host: "h.example", Namespace: "n", Type: rapid.SampledFrom([]string{"a", "b", "c-d", "é"}).Draw(t, "provider")}}
		if rapid.Bool().Draw(t, "alias") {
			o.Provider.Alias = name.Draw(t, "alias name")
			o.Provider.Key = drawKey(t)
		}
		if rapid.Bool().Draw(t, "flat") {
			o.Flat = map[string]string{"id": rapid.String().Draw(t, "id"), "": "x"}
		} else {
			o.JSON = fmt.Appendf(nil, `{"id" : %q, "l":[{}, [ ] ,null,-1.5e+3]}`, name.Draw(t, "id"))
		}
		if rapid.Bool().Draw(t, "sensitive") {
			o.Sensitive = []cty.Path{
				cty.GetAttrPath(rapid.String().Draw(t, "attribute")).IndexInt(rapid.IntRange(0, 99).Draw(t, "index")),
				cty.IndexStringPath(rapid.String().Draw(t, "key")),
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "dependencies") {
			dep := drawResource("dependency").Erase()
			if len(o.Dependencies) == 0 || o.Dependencies[0].String() < dep.String() {
				o.Dependencies = append(o.Dependencies, dep)
			}
		}
		if rapid.Bool().Draw(t, "identity") {
			o.IdentityJSON, o.IdentityVersion = []byte(`{"id":"x"}`), 2
		}
		s.Objects[at] = o
	}
	for range rapid.IntRange(0, 2).Draw(t, "outputs") {
		s.Outputs[rapid.String().Draw(t, "output")] = state.Output{
			Value: rapid.SampledFrom([]cty.Value{
				cty.True, cty.NumberIntVal(3), cty.EmptyObjectVal,
				cty.ListVal([]cty.Value{cty.NullVal(cty.String), cty.StringVal("<&>\u2028")}),
				cty.TupleVal([]cty.Value{cty.NullVal(cty.DynamicPseudoType), cty.SetValEmpty(cty.Bool)}),
			}).Draw(t, "value"),
			Sensitive:  rapid.Bool().Draw(t, "sensitive output"),
			Deprecated: rapid.SampledFrom([]string{"", "use x"}).Draw(t, "deprecated"),
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "checks") {
		c := state.CheckResult{
			Kind:    rapid.SampledFrom([]string{"resource", "output_value", "check", "input_variable"}).Draw(t, "check kind"),
			Address: name.Draw(t, "check"),
			Status:  rapid.SampledFrom([]string{"pass", "fail", "error", "unknown"}).Draw(t, "status"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "check objects") {
			c.Objects = append(c.Objects, state.CheckObject{Address: rapid.String().Draw(t, "object"), Status: "fail", Messages: []string{"m"}})
		}
		s.Checks = append(s.Checks, c)
	}
	return s
}
