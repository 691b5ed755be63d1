package contract

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// TestRemovedNested removes an optional argument that the provider computes otherwise. Where
// something in it was configured, its removal is a change, in every form of nesting.
func TestRemovedNested(t *testing.T) {
	element := func(gb, id cty.Value) cty.Value { return obj(object{"gb": gb, "id": id}) }
	wrap := map[schema.Nesting]func(cty.Value) cty.Value{
		schema.Single: func(v cty.Value) cty.Value { return v },
		schema.List:   func(v cty.Value) cty.Value { return list(element(null, str("other")), v) },
		schema.Set:    func(v cty.Value) cty.Value { return set(v) },
		schema.Map:    func(v cty.Value) cty.Value { return cty.MapVal(object{"k": v}) },
	}
	for nesting, of := range wrap {
		b := &schema.Block{Attributes: map[string]*schema.Attribute{"disk": {Optional: true, Computed: true, Nested: &schema.Object{
			Nesting: nesting,
			Attributes: map[string]*schema.Attribute{
				"gb": {Type: cty.String, Optional: true},
				"id": {Type: cty.String, Computed: true},
			},
		}}}}
		b.Attributes["disk"].Type = b.Attributes["disk"].Nested.ImpliedType()
		for _, c := range []struct {
			name   string
			prior  cty.Value
			change bool
		}{
			{"configured", of(element(str("10"), str("i"))), true},
			{"computed", of(element(null, str("i"))), false},
		} {
			prior := obj(object{"disk": c.prior})
			got := ProposedNew(b, prior, obj(object{"disk": cty.NullVal(c.prior.Type())})).GetAttr("disk")
			if got.IsNull() != c.change {
				t.Errorf("%v, %s: proposed %#v", nesting, c.name, got)
			}
			if !c.change && !got.RawEquals(c.prior) {
				t.Errorf("%v, %s: proposed %#v, want what the provider computed", nesting, c.name, got)
			}
		}
	}
}
