package value

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Convert is convert.Convert in linear time: the same results and errors, but
// a tuple becomes a list, and an object a map, without comparing the types of
// all elements with each other. Marks of nulls, which the library loses in
// sets, are kept.
func Convert(v cty.Value, want cty.Type) (cty.Value, error) {
	if v.Type().Equals(want) {
		return v, nil
	}
	bare, marks := v.Unmark()
	if bare.IsNull() || !bare.IsKnown() {
		return convertByLibrary(v, want)
	}
	ret, ok, err := convertKnown(bare, want)
	if err != nil {
		return cty.NilVal, err
	}
	if !ok {
		return convertByLibrary(v, want)
	}
	return ret.WithMarks(marks), nil
}

// convertByLibrary guards against the library's panic on nulls and unknowns of
// nested types with dynamic parts.
func convertByLibrary(v cty.Value, want cty.Type) (ret cty.Value, err error) {
	defer func() {
		if recover() != nil {
			ret, err = cty.NilVal, fmt.Errorf("%s required", want.FriendlyNameForConstraint())
		}
	}()
	return convert.Convert(v, want)
}

// convertKnown handles the conversions that need care. It answers false for
// those that are best left to the library, such as one that fails because the
// types don't match, whose message describes the whole.
func convertKnown(v cty.Value, want cty.Type) (cty.Value, bool, error) {
	have := v.Type()
	switch {
	case have.IsTupleType() && (want.IsListType() || want.IsSetType()):
		ety, ok := elementType(have.TupleElementTypes(), want.ElementType())
		if !ok || have.Length() == 0 {
			return cty.NilVal, false, nil
		}
		return convertSequence(v, ety, want.IsListType())
	case have.IsObjectType() && want.IsMapType():
		atys := have.AttributeTypes()
		types := make([]cty.Type, 0, len(atys))
		for _, name := range slices.Sorted(maps.Keys(atys)) {
			types = append(types, atys[name])
		}
		ety, ok := elementType(types, want.ElementType())
		if !ok || len(atys) == 0 {
			return cty.NilVal, false, nil
		}
		return convertMapping(v, ety)
	case have.IsObjectType() && want.IsObjectType():
		return convertObject(v, want)
	}
	return cty.NilVal, false, nil
}

// elementType resolves the type of the elements of a new collection. It answers false without
// one or if elements could still end up with several types.
func elementType(types []cty.Type, want cty.Type) (cty.Type, bool) {
	types = distinctTypes(types)
	if want == cty.DynamicPseudoType {
		want = unifyDistinct(types)
	}
	if want == cty.NilType || want.HasDynamicTypes() {
		return cty.NilType, false
	}
	for _, ty := range types {
		if !ty.Equals(want) && convert.GetConversionUnsafe(ty, want) == nil {
			return cty.NilType, false
		}
	}
	return want, true
}

// Unify finds the one type that all the given types can convert to, or
// NilType. It costs the number of types plus the square of the number of
// different ones.
func Unify(types []cty.Type) cty.Type {
	return unifyDistinct(distinctTypes(types))
}

func unifyDistinct(types []cty.Type) cty.Type {
	if len(types) == 1 {
		return types[0]
	}
	ty, _ := convert.UnifyUnsafe(types)
	return ty
}

func distinctTypes(types []cty.Type) []cty.Type {
	var different []cty.Type
	var seen map[string]bool
	for i, ty := range types {
		if i > 0 && ty.Equals(types[i-1]) {
			continue
		}
		if len(different) > 0 {
			if seen == nil {
				seen = map[string]bool{different[0].GoString(): true}
			}
			key := ty.GoString()
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		different = append(different, ty)
	}
	return different
}

func convertElement(elem cty.Value, ety cty.Type, step cty.PathStep) (cty.Value, error) {
	ret, err := Convert(elem, ety)
	if err != nil {
		path := cty.Path{step}
		if perr, ok := err.(cty.PathError); ok {
			path = append(path, perr.Path...)
		}
		return cty.NilVal, path.NewErrorf("%s", err.Error())
	}
	if ret.IsNull() {
		bare, marks := ret.Unmark()
		ret = cty.NullVal(bare.Type().WithoutOptionalAttributesDeep()).WithMarks(marks)
	}
	return ret, nil
}

func convertSequence(v cty.Value, ety cty.Type, list bool) (cty.Value, bool, error) {
	elems := make([]cty.Value, 0, v.LengthInt())
	for key, elem := range v.Elements() {
		ret, err := convertElement(elem, ety, cty.IndexStep{Key: key})
		if err != nil {
			return cty.NilVal, false, err
		}
		elems = append(elems, ret)
	}
	switch {
	case list && cty.CanListVal(elems):
		return cty.ListVal(elems), true, nil
	case !list && cty.CanSetVal(elems):
		return cty.SetVal(elems), true, nil
	}
	return cty.NilVal, false, nil
}

func convertMapping(v cty.Value, ety cty.Type) (cty.Value, bool, error) {
	elems := make(map[string]cty.Value, len(v.Type().AttributeTypes()))
	for key, elem := range v.Elements() {
		ret, err := convertElement(elem, ety, cty.IndexStep{Key: key})
		if err != nil {
			return cty.NilVal, false, err
		}
		elems[key.AsString()] = ret
	}
	if !cty.CanMapVal(elems) {
		return cty.NilVal, false, nil
	}
	return cty.MapVal(elems), true, nil
}

func convertObject(v cty.Value, want cty.Type) (cty.Value, bool, error) {
	have := v.Type()
	if convert.GetConversionUnsafe(have, want) == nil {
		return cty.NilVal, false, nil
	}
	attrs := make(map[string]cty.Value, len(want.AttributeTypes()))
	for name, aty := range want.AttributeTypes() {
		if !have.HasAttribute(name) {
			attrs[name] = cty.NullVal(aty.WithoutOptionalAttributesDeep())
			continue
		}
		ret, err := convertElement(v.GetAttr(name), aty, cty.GetAttrStep{Name: name})
		if err != nil {
			return cty.NilVal, false, err
		}
		attrs[name] = ret
	}
	return cty.ObjectVal(attrs), true, nil
}
