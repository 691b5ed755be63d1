package builtin

import (
	"maps"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/provider"
)

// object is a terraform_data with a store, whose other attributes are null.
func object(id cty.Value, store map[string]cty.Value) cty.Value {
	v := storing().EmptyValue().AsValueMap()
	v["id"] = id
	if store != nil {
		m := attrs{"input": null, "output": null, "sensitive_output": null, "version": null, "sensitive": cty.NullVal(cty.Bool), "replace": cty.NullVal(cty.Bool)}
		maps.Copy(m, store)
		v["store"] = cty.ObjectVal(m)
	}
	return cty.ObjectVal(v)
}

type attrs = map[string]cty.Value

func TestStorePlan(t *testing.T) {
	gone := cty.NullVal(storing().ImpliedType())
	one := attrs{"output": text("a"), "version": cty.NumberIntVal(1)}
	with := func(base, more attrs) attrs {
		m := maps.Clone(base)
		maps.Copy(m, more)
		return m
	}
	p := New(Options{Store: true})
	for _, tt := range []struct {
		name           string
		prior          cty.Value
		config, stored attrs // the store as it is configured, and as it is planned
		replaced       bool
	}{
		{"create", gone, attrs{"input": text("a")}, attrs{"output": unknown}, false},
		{"create secret", gone, attrs{"input": text("a"), "sensitive": cty.True}, attrs{"sensitive_output": unknown, "sensitive": cty.True}, false},
		{"create with nothing", gone, attrs{}, attrs{}, false},
		{"no change", object(text("i"), attrs{"output": text("a")}), attrs{"input": text("a")}, attrs{"output": text("a")}, false},
		{"other input", object(text("i"), attrs{"output": text("a")}), attrs{"input": text("b")}, attrs{"output": unknown}, false},
		{"same version", object(text("i"), one), attrs{"input": text("b"), "version": cty.NumberIntVal(1)}, one, false},
		{"other version", object(text("i"), one), attrs{"input": text("b"), "version": cty.NumberIntVal(2)}, attrs{"output": unknown, "version": cty.NumberIntVal(2)}, false},
		{"becomes secret", object(text("i"), one), attrs{"input": text("b"), "version": cty.NumberIntVal(1), "sensitive": cty.True}, attrs{"sensitive_output": text("a"), "version": cty.NumberIntVal(1), "sensitive": cty.True}, false},
		{"becomes public", object(text("i"), attrs{"sensitive_output": text("a"), "sensitive": cty.True}), attrs{"input": text("a")}, attrs{"output": text("a")}, false},
		{"replaces", object(text("i"), one), attrs{"input": text("b"), "version": cty.NumberIntVal(2), "replace": cty.True}, with(one, attrs{"output": unknown, "version": cty.NumberIntVal(2), "replace": cty.True}), true},
		{"nothing to replace", object(text("i"), one), attrs{"input": text("b"), "version": cty.NumberIntVal(1), "replace": cty.True}, with(one, attrs{"replace": cty.True}), false},
		{"new block", object(text("i"), nil), attrs{"input": text("a")}, attrs{"output": unknown}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := unknown
			if !tt.prior.IsNull() {
				id = text("i")
			}
			config := object(null, tt.config)
			proposed := object(id, with(tt.config, attrs{"output": null, "sensitive_output": null}))
			r := p.Plan(t.Context(), provider.PlanRequest{Type: dataType, Prior: tt.prior, ProposedNew: proposed, Config: config})
			if r.Diags != nil {
				t.Fatal(r.Diags)
			}
			want := object(null, tt.stored).GetAttr("store")
			if got := r.Planned.GetAttr("store"); !got.RawEquals(want) {
				t.Fatalf("got  %#v\nwant %#v", got, want)
			}
			replaced := len(r.RequiresReplace) == 1
			if replaced != tt.replaced || (!tt.prior.IsNull() && r.Planned.GetAttr("id").IsKnown() == replaced) {
				t.Errorf("replaced: %v, id %#v", r.RequiresReplace, r.Planned.GetAttr("id"))
			}
			done := p.Apply(t.Context(), provider.ApplyRequest{Type: dataType, Planned: r.Planned, Config: config})
			if done.Diags != nil || !done.New.IsWhollyKnown() {
				t.Fatalf("%v: %#v", done.Diags, done.New)
			}
			for _, name := range []string{"output", "sensitive_output"} {
				planned, got := r.Planned.GetAttr("store").GetAttr(name), done.New.GetAttr("store").GetAttr(name)
				if !planned.IsKnown() && !got.RawEquals(tt.config["input"]) {
					t.Errorf("%s is %#v", name, got)
				}
			}
			if !done.New.GetAttr("store").GetAttr("input").IsNull() {
				t.Error("what is write-only is stored")
			}
		})
	}
	unsure := object(text("i"), attrs{"input": text("a"), "sensitive": cty.UnknownVal(cty.Bool)})
	if r := p.Plan(t.Context(), provider.PlanRequest{Type: dataType, Prior: gone, ProposedNew: unsure, Config: unsure}); !r.Diags.HasErrors() {
		t.Error("whether it is sensitive may be unknown")
	}
}

func TestStoreValidate(t *testing.T) {
	for name, wrong := range map[string]bool{"input": false, "version": false, "output": true, "sensitive_output": true} {
		if diags := validateData(object(null, attrs{name: text("a")})); diags.HasErrors() != wrong {
			t.Errorf("%s: %v", name, diags)
		}
	}
	if diags := validateData(object(null, nil)); diags != nil {
		t.Error(diags)
	}
}
