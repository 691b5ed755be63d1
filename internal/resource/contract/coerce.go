package contract

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/schema"
)

// CoerceValue converts a value that wasn't decoded from a body to the type of
// the block: missing optional attributes become null, missing blocks empty.
// The error, a cty.PathError, is the first problem in the order of names;
// beside it comes an unknown value of the right type.
func CoerceValue(b *schema.Block, v cty.Value) (cty.Value, error) {
	out, err := coerce(nil, b, v)
	if err != nil {
		return cty.UnknownVal(b.ImpliedType()), err
	}
	return out, nil
}

func coerce(at *place, b *schema.Block, v cty.Value) (cty.Value, error) {
	switch {
	case v.IsNull():
		return cty.NullVal(b.ImpliedType()), nil
	case !v.IsKnown():
		return cty.UnknownVal(b.ImpliedType()), nil
	case !v.Type().IsObjectType() && !v.Type().IsMapType():
		return v, at.path().NewErrorf("an object is required")
	}
	given := v.AsValueMap()
	for _, name := range sortedNames(given) {
		if b.Attributes[name] == nil && b.Blocks[name] == nil {
			return v, at.path().NewErrorf("unexpected attribute %q", name)
		}
	}
	values := make(map[string]cty.Value, len(b.Attributes)+len(b.Blocks))
	for _, name := range b.Names() {
		inner, ok := given[name]
		var err error
		switch a := b.Attributes[name]; {
		case a == nil && !ok:
			inner = b.Blocks[name].EmptyValue()
		case a == nil:
			inner, err = coerceNested(at.attr(name), b.Blocks[name], inner)
		case !ok && a.Required:
			return v, at.path().NewErrorf("attribute %q is required", name)
		case !ok:
			inner = cty.NullVal(a.ImpliedType())
		default:
			inner, err = convert.Convert(inner, conversionType(a))
			if err != nil {
				err = at.attr(name).path().NewError(err)
			}
		}
		if err != nil {
			return v, err
		}
		values[name] = inner
	}
	return cty.ObjectVal(values), nil
}

// conversionType lets attributes of nested objects be left out.
func conversionType(a *schema.Attribute) cty.Type {
	if a.Nested == nil {
		return a.Type
	}
	return a.Nested.DecodeType()
}

func coerceNested(at *place, n *schema.NestedBlock, v cty.Value) (cty.Value, error) {
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		return coerce(at, n.Block, v)
	}
	switch {
	case v.IsNull():
		return cty.NullVal(n.ImpliedType()), nil
	case !v.IsKnown():
		return cty.UnknownVal(n.ImpliedType()), nil
	case !v.CanIterateElements():
		return v, at.path().NewErrorf("must be a %s", nestingNoun(n.Nesting))
	case n.Nesting == schema.Map && !v.Type().IsMapType() && !v.Type().IsObjectType():
		return v, at.path().NewErrorf("must be a map")
	case n.Nesting != schema.Map && (v.Type().IsMapType() || v.Type().IsObjectType()):
		return v, at.path().NewErrorf("must be a %s", nestingNoun(n.Nesting))
	}
	var list []cty.Value
	keyed := make(map[string]cty.Value)
	for it := v.ElementIterator(); it.Next(); {
		key, element := it.Element()
		out, err := coerce(at.index(key), n.Block, element)
		if err != nil {
			return v, err
		}
		if n.Nesting == schema.Map {
			keyed[key.AsString()] = out
		} else {
			list = append(list, out)
		}
	}
	empty := n.EmptyValue()
	switch {
	case n.Nesting == schema.Map:
		return mapLike(empty, keyed), nil
	case n.Nesting == schema.Set:
		return setLike(empty, list), nil
	}
	return listLike(empty, list), nil
}

func nestingNoun(n schema.Nesting) string {
	switch n {
	case schema.Set:
		return "set"
	case schema.Map:
		return "map"
	}
	return "list"
}
