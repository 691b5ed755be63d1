package statefile

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/state"
)

func TestEqual(t *testing.T) {
	at := addr.Object{Instance: addr.Resource{Name: addr.Name{Type: "a", Name: "b"}}.Instance(addr.NoKey)}
	base := func() *state.Snapshot {
		s := state.Empty()
		s.Objects[at] = &state.Object{
			JSON:      []byte(`{"a":"<","b":[1]}`),
			Sensitive: []cty.Path{cty.GetAttrPath("a"), cty.GetAttrPath("b")},
		}
		s.Outputs["o"] = state.Output{Value: cty.StringVal("x")}
		s.Checks = []state.CheckResult{{Kind: "check", Address: "check.a"}, {Kind: "check", Address: "check.b"}}
		return s
	}
	for _, tt := range []struct {
		name   string
		change func(*state.Snapshot)
		want   bool
	}{
		{"nothing", func(*state.Snapshot) {}, true},
		{"serial", func(s *state.Snapshot) { s.Serial, s.Lineage, s.Version = 1, "l", "v" }, true},
		{"white space", func(s *state.Snapshot) { s.Objects[at].JSON = []byte("{\n\"a\": \"<\", \"b\": [ 1 ]}") }, true},
		{"escape", func(s *state.Snapshot) { s.Objects[at].JSON = []byte(`{"a":"\u003c","b":[1]}`) }, true},
		{"order of members", func(s *state.Snapshot) { s.Objects[at].JSON = []byte(`{"b":[1],"a":"<"}`) }, true},
		{"order of paths", func(s *state.Snapshot) {
			s.Objects[at].Sensitive = []cty.Path{cty.GetAttrPath("b"), cty.GetAttrPath("a")}
		}, true},
		{"order of checks", func(s *state.Snapshot) { s.Checks[0], s.Checks[1] = s.Checks[1], s.Checks[0] }, true},
		{"attribute", func(s *state.Snapshot) { s.Objects[at].JSON = []byte(`{"a":"<","b":[2]}`) }, false},
		{"path", func(s *state.Snapshot) { s.Objects[at].Sensitive = s.Objects[at].Sensitive[:1] }, false},
		{"taint", func(s *state.Snapshot) { s.Objects[at].Tainted = true }, false},
		{"private", func(s *state.Snapshot) { s.Objects[at].Private = []byte{1} }, false},
		{"dependency", func(s *state.Snapshot) { s.Objects[at].Dependencies = []addr.Resource{at.Resource} }, false},
		{"provider", func(s *state.Snapshot) { s.Objects[at].Provider.Alias = "x" }, false},
		{"identity", func(s *state.Snapshot) { s.Objects[at].IdentityJSON = []byte("{}") }, false},
		{"flat", func(s *state.Snapshot) { s.Objects[at].JSON, s.Objects[at].Flat = nil, map[string]string{"a": "<"} }, false},
		{"gone", func(s *state.Snapshot) { delete(s.Objects, at) }, false},
		{"output", func(s *state.Snapshot) { s.Outputs["o"] = state.Output{Value: cty.StringVal("y")} }, false},
		{"output type", func(s *state.Snapshot) {
			s.Outputs["o"] = state.Output{Value: cty.ListValEmpty(cty.String)}
		}, false},
		{"sensitive output", func(s *state.Snapshot) {
			s.Outputs["o"] = state.Output{Value: cty.StringVal("x"), Sensitive: true}
		}, false},
		{"check", func(s *state.Snapshot) { s.Checks[0].Status = "fail" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := base()
			tt.change(changed)
			if got := Equal(base(), changed); got != tt.want {
				t.Errorf("got %v", got)
			}
			if got := Equal(changed, base()); got != tt.want {
				t.Errorf("the other way round %v", got)
			}
		})
	}
	if Equal(nil, state.Empty()) || Equal(state.Empty(), nil) || !Equal(nil, nil) {
		t.Error("no state is only equal to no state")
	}
}

func TestTranslateProviders(t *testing.T) {
	t.Run("to OpenTofu", func(t *testing.T) { testTranslate(t, addr.OpenTofu, addr.Terraform) })
	t.Run("to Terraform", func(t *testing.T) { testTranslate(t, addr.Terraform, addr.OpenTofu) })
}

func testTranslate(t *testing.T, own, other addr.Registry) {
	object := func(s *state.Snapshot, name, provider string) {
		p, err := own.ParseProvider(provider)
		if err != nil {
			t.Fatal(err)
		}
		at := addr.Resource{Name: addr.Name{Type: "t", Name: name}}.Instance(addr.NoKey)
		s.Objects[addr.Object{Instance: at}] = &state.Object{Provider: addr.ProviderConfig{Provider: p, Alias: "w"}}
	}
	s := state.Empty()
	object(s, "a", string(other)+"/hashicorp/null")
	object(s, "b", string(other)+"/hashicorp/random")
	object(s, "c", string(other)+"/other/x")
	object(s, "d", "example.com/hashicorp/null")
	got := TranslateProviders(s, own, func(p addr.Provider) bool { return p.Type == "random" })
	want := map[string]string{
		"t.a": `provider["` + string(own) + `/hashicorp/null"].w`,
		"t.b": `provider["` + string(other) + `/hashicorp/random"].w`,
		"t.c": `provider["` + string(own) + `/other/x"].w`,
		"t.d": `provider["example.com/hashicorp/null"].w`,
	}
	for at, o := range got.Objects {
		if text := o.Provider.String(); text != want[at.String()] {
			t.Errorf("%s has %s", at, text)
		}
	}
	for _, o := range s.Objects {
		if own.Has(o.Provider.Provider) {
			t.Error("the original was changed")
		}
	}
	if again := TranslateProviders(got, own, func(addr.Provider) bool { return true }); again != got {
		t.Error("copied without need")
	}
	if TranslateProviders(nil, own, nil) != nil {
		t.Error("a state came out of nothing")
	}
}

// Any state comes back equal after it was written and read.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		text := write(t, s)
		back, diags := Read([]byte(text), "x")
		if err := diags.Err(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !Equal(s, back) {
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
			SchemaVersion:       int64(rapid.IntRange(0, 3).Draw(t, "version")),
			Tainted:             rapid.Bool().Draw(t, "tainted"),
			CreateBeforeDestroy: rapid.Bool().Draw(t, "create before destroy"),
			SkipDestroy:         rapid.Bool().Draw(t, "skip destroy"),
			Private:             rapid.SliceOf(rapid.Byte()).Draw(t, "private"),
		}
		o.Provider = addr.ProviderConfig{Provider: addr.Provider{Host: "h.example", Namespace: "n", Type: name.Draw(t, "provider")}}
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
