package weir

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/schema"
)

// plain is a value as functions of a provider get it. Unknown parts are hidden: nil or
// [Unknown] stands for them.
func plain(v cty.Value, hidden any) any {
	switch {
	case v == cty.NilVal || v.IsNull():
		return nil
	case !v.IsKnown():
		return hidden
	}
	switch t := v.Type(); {
	case t == cty.String:
		return v.AsString()
	case t == cty.Bool:
		return v.True()
	case t == cty.Number:
		f, _ := v.AsBigFloat().Float64()
		return f
	case t.IsObjectType() || t.IsMapType():
		out := make(Object, v.LengthInt())
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			out[k.AsString()] = plain(e, hidden)
		}
		return out
	}
	out := make([]any, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, plain(e, hidden))
	}
	return out
}

// object is an object as functions get it, nil for none.
func object(v cty.Value, hidden any) Object {
	o, _ := plain(v, hidden).(Object)
	return o
}

// typed is what a function has returned as a value of a type.
func typed(x any, t cty.Type) (cty.Value, error) {
	switch x := x.(type) {
	case nil:
		return cty.NullVal(t), nil
	case unknown:
		return cty.UnknownVal(t), nil
	case Object:
		switch {
		case t.IsObjectType():
			return typedObject(x, t, nil)
		case t.IsMapType():
			elements := make(map[string]cty.Value, len(x))
			for k, e := range x {
				v, err := typed(e, t.ElementType())
				if err != nil {
					return cty.NilVal, fmt.Errorf("[%q]: %w", k, err)
				}
				elements[k] = v
			}
			if len(elements) == 0 {
				return cty.MapValEmpty(t.ElementType()), nil
			}
			return cty.MapVal(elements), nil
		}
	case []any:
		if t.IsListType() || t.IsSetType() {
			elements := make([]cty.Value, len(x))
			for i, e := range x {
				v, err := typed(e, t.ElementType())
				if err != nil {
					return cty.NilVal, fmt.Errorf("[%d]: %w", i, err)
				}
				elements[i] = v
			}
			switch {
			case len(elements) == 0:
				return convert.Convert(cty.EmptyTupleVal, t)
			case t.IsSetType():
				return cty.SetVal(elements), nil
			}
			return cty.ListVal(elements), nil
		}
	}
	text, err := json.Marshal(x)
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(text, t)
}

// typedObject is an object with the attributes of a type. Missing ones are null, or have
// the value that missing returns.
func typedObject(o Object, t cty.Type, missing func(name string) (cty.Value, bool)) (cty.Value, error) {
	types := t.AttributeTypes()
	for name := range o {
		if _, ok := types[name]; !ok {
			return cty.NilVal, fmt.Errorf("the type has no attribute %q", name)
		}
	}
	all := make(map[string]cty.Value, len(types))
	for name, at := range types {
		x, ok := o[name]
		if !ok && missing != nil {
			if v, ok := missing(name); ok {
				all[name] = v
				continue
			}
		}
		v, err := typed(x, at)
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = v
	}
	return cty.ObjectVal(all), nil
}

// result is an object that a function has returned. Missing parts are as desired, or empty
// without that.
func result(o Object, desired cty.Value, b *schema.Block) (cty.Value, error) {
	v, err := typedObject(o, b.ImpliedType(), func(name string) (cty.Value, bool) {
		if desired != cty.NilVal && !desired.IsNull() {
			return withoutUnknown(desired.GetAttr(name)), true
		}
		if nested := b.Blocks[name]; nested != nil {
			return nested.EmptyValue(), true
		}
		return cty.NilVal, false
	})
	if err != nil {
		return cty.NilVal, fmt.Errorf("the answer of the provider doesn't have the type's attributes: %w", err)
	}
	return v, nil
}

// withoutUnknown is a value with null in place of what isn't known.
func withoutUnknown(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	known, _ := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) { // the function has no errors
		if !v.IsKnown() {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	return known
}
