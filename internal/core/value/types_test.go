package value

import (
	"reflect"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestShare: values of one name and of equal types have one type, and are what they were.
func TestShare(t *testing.T) {
	object := func(a cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"a": a, "b": cty.ObjectVal(map[string]cty.Value{"c": cty.True.Mark(Sensitive)})})
	}
	id := func(v cty.Value) uintptr { return reflect.ValueOf(v.Type().AttributeTypes()).Pointer() }
	var types Types
	first := types.Share("x", object(cty.StringVal("1")))
	for what, v := range map[string]cty.Value{
		"known":           object(cty.StringVal("2")),
		"unknown":         object(cty.UnknownVal(cty.String).RefineNotNull()),
		"null within":     object(cty.NullVal(cty.String)),
		"marked":          object(cty.StringVal("2")).Mark(Sensitive),
		"a null":          cty.NullVal(object(cty.StringVal("2")).Type()),
		"wholly unknown":  cty.UnknownVal(object(cty.StringVal("2")).Type()),
		"the same object": first,
	} {
		got := types.Share("x", v)
		if !reflect.DeepEqual(got, v) || !got.Type().Equals(v.Type()) {
			t.Errorf("%s: %#v, not %#v", what, got, v)
		}
		if id(got) != id(first) {
			t.Errorf("%s: the type isn't shared", what)
		}
	}
	for what, v := range map[string]cty.Value{
		"another type": object(cty.True),
		"dynamic":      object(cty.DynamicVal),
		"no object":    cty.StringVal("x"),
		"nothing":      cty.DynamicVal,
	} {
		for range 2 {
			if got := types.Share("x", v); !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %#v, not %#v", what, got, v)
			}
		}
	}
	if got := types.Share("y", object(cty.True)); id(got) == id(first) {
		t.Error("another name has the type")
	}
}
