package value

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestParts(t *testing.T) {
	object := func(v cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"a": cty.True, "b": v, "c": cty.EmptyObjectVal})
	}
	unknown, marked := cty.UnknownVal(cty.String), cty.StringVal("x").Mark(Sensitive)
	for _, inner := range []cty.Value{
		cty.True, cty.NullVal(cty.String), cty.DynamicVal, unknown, marked, unknown.Mark(Ephemeral),
		cty.NullVal(cty.DynamicPseudoType), cty.NullVal(cty.Bool).Mark(Sensitive), cty.EmptyTupleVal,
	} {
		for _, v := range []cty.Value{
			inner, object(inner), object(object(inner)), object(inner).Mark(Ephemeral),
			cty.TupleVal([]cty.Value{cty.Zero, inner}), object(cty.TupleVal([]cty.Value{inner})),
			cty.ListVal([]cty.Value{inner}), cty.MapVal(map[string]cty.Value{"k": inner}), cty.SetVal([]cty.Value{inner}),
			cty.ListVal([]cty.Value{object(inner)}), cty.UnknownVal(cty.Map(cty.String)), cty.NullVal(cty.Set(cty.String)),
		} {
			if got, want := ContainsMarked(v), v.ContainsMarked(); got != want {
				t.Errorf("%#v contains marks: %v", v, got)
			}
			if got, want := WhollyKnown(v), v.IsWhollyKnown(); got != want {
				t.Errorf("%#v is wholly known: %v", v, got)
			}
		}
	}
}
