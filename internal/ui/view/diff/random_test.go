package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

// A maker makes random values of a type.
type maker struct{ *rand.Rand }

func (m maker) value(ty cty.Type, depth int) cty.Value {
	v := m.plain(ty, depth)
	if m.IntN(12) == 0 {
		v = v.Mark(value.Sensitive)
	}
	return v
}

func (m maker) plain(ty cty.Type, depth int) cty.Value {
	switch n := m.IntN(14); {
	case n == 0:
		return cty.NullVal(ty)
	case n == 1 && depth > 0:
		return cty.UnknownVal(ty)
	}
	count := m.IntN(4)
	switch {
	case ty == cty.DynamicPseudoType:
		types := []cty.Type{cty.String, cty.Number, cty.List(cty.String), cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.Map(cty.Bool)}), cty.Tuple([]cty.Type{cty.String, cty.Bool})}
		return m.plain(types[m.IntN(len(types))], depth)
	case ty == cty.String:
		return cty.StringVal([]string{"", "a", "b", "two\nlines", "two\nother\nlines", `{"k":[1,"x"],"n":null}`, `{"k": [1]}`, `[broken`, "secret", "a: 1\nb: [x]\n", "a: 2\nc: {d: true}\n"}[m.IntN(11)])
	case ty == cty.Number:
		return cty.NumberIntVal(m.Int64N(3))
	case ty == cty.Bool:
		return cty.BoolVal(m.IntN(2) == 0)
	case ty.IsObjectType():
		vs := map[string]cty.Value{}
		for name, t := range ty.AttributeTypes() {
			vs[name] = m.value(t, depth+1)
		}
		return cty.ObjectVal(vs)
	case ty.IsMapType():
		vs := map[string]cty.Value{}
		for range count {
			vs[fmt.Sprintf("k %d", m.IntN(4))] = m.value(ty.ElementType(), depth+1)
		}
		if len(vs) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(vs)
	case ty.IsTupleType():
		var vs []cty.Value
		for _, t := range ty.TupleElementTypes() {
			vs = append(vs, m.value(t, depth+1))
		}
		return cty.TupleVal(vs)
	}
	var vs []cty.Value
	for range count {
		vs = append(vs, m.value(ty.ElementType(), depth+1))
	}
	switch {
	case ty.IsSetType() && len(vs) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vs)
	case len(vs) == 0:
		return cty.ListValEmpty(ty.ElementType())
	}
	return cty.ListVal(vs)
}

// TestRandomObjects compares objects of all shapes: nothing panics, what is
// equal is unchanged, and a wholly secret object shows nothing of itself.
func TestRandomObjects(t *testing.T) {
	inner := map[string]*schema.Attribute{"s": {Type: cty.String}, "m": {Type: cty.Map(cty.Number)}, "w": {Type: cty.String, WriteOnly: true}}
	nested := func(n schema.Nesting) *schema.Attribute {
		return &schema.Attribute{Nested: &schema.Object{Attributes: inner, Nesting: n}}
	}
	leaf := &schema.Block{Attributes: inner}
	b := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"id": {Type: cty.String}, "n": {Type: cty.Number}, "list": {Type: cty.List(cty.String)}, "set": {Type: cty.Set(cty.String)},
			"objects": {Type: cty.List(cty.Object(map[string]cty.Type{"a": cty.String}))}, "tuple": {Type: cty.Tuple([]cty.Type{cty.String, cty.Bool})},
			"nested list": nested(schema.List), "nested_set": nested(schema.Set), "nested_map": nested(schema.Map), "nested_one": nested(schema.Single),
			"any": {Type: cty.DynamicPseudoType}, "wo": {Type: cty.String, WriteOnly: true},
		},
		Blocks: map[string]*schema.NestedBlock{
			"list_block": {Block: leaf, Nesting: schema.List}, "set_block": {Block: leaf, Nesting: schema.Set},
			"map_block": {Block: leaf, Nesting: schema.Map}, "one": {Block: leaf, Nesting: schema.Single},
		},
	}
	m := maker{rand.New(rand.NewPCG(3, 4))}
	paths := []cty.Path{cty.GetAttrPath("list").IndexInt(0), cty.GetAttrPath("nested_map"), cty.GetAttrPath("list_block").IndexInt(1).GetAttr("s"), cty.GetAttrPath("wo")}
	for range 300 {
		before, after := m.plain(b.ImpliedType(), 0), m.plain(b.ImpliedType(), 0)
		for _, o := range []Options{{}, {ShowUnchanged: true, NoSymbols: true, NoNull: true}, {ShowSensitive: true, BlankSymbols: true}, {Fold: true}} {
			Object(before, after, b, paths, nil).Text(0, o)
			Object(before, after, b, nil, paths).Text(0, o)
			Of(before, after).Text(1, o)
		}
		bare, _ := before.UnmarkDeep()
		if bare.IsWhollyKnown() {
			if n := Object(before, before, b, nil, nil); n.Action != plan.NoOp {
				t.Fatalf("an object differs from itself:\n%s", n.Text(0, Options{}))
			}
		}
		hidden := bare.Mark(value.Sensitive)
		if text := Object(cty.NullVal(b.ImpliedType()), hidden, b, nil, nil).Text(0, Options{}); strings.Contains(text, "secret") {
			t.Fatalf("a secret is shown:\n%s", text)
		}
	}
}
