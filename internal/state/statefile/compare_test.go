package statefile

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
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
