package contract

import (
	"bytes"
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
)

// NormalizeLegacy repairs objects of providers on the old SDK, which confuse
// absent, empty and unknown nested blocks: afterwards no collection of blocks
// is null or unknown. NilVal becomes a null object.
//
// It is for what a provider has read only. In plans of such providers an
// unknown collection of blocks says that nobody knows yet how many there will
// be; they get it back as they gave it when the plan is applied.
func NormalizeLegacy(b *schema.Block, v cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() {
		return cty.NullVal(b.ImpliedType())
	}
	if len(b.Blocks) == 0 || !v.IsKnown() {
		return v
	}
	values := value.Attributes(v)
	for name, nested := range b.Blocks {
		values[name] = normalizeNested(nested, values[name])
	}
	return cty.ObjectVal(values)
}

func normalizeNested(n *schema.NestedBlock, v cty.Value) cty.Value {
	// The old SDK has neither maps of blocks nor dynamic types.
	if n.Nesting == schema.Map || n.Block.ImpliedType().HasDynamicTypes() {
		return v
	}
	switch n.Nesting {
	case schema.Single, schema.Group:
		switch {
		case !v.IsKnown():
			return unknownContent(n.Block)
		case v.IsNull() && n.Nesting == schema.Group:
			return n.EmptyValue()
		}
		return NormalizeLegacy(n.Block, v)
	}
	var content []cty.Value
	if v.IsKnown() {
		for _, element := range slice(v) {
			content = append(content, NormalizeLegacy(n.Block, element))
		}
	} else {
		content = []cty.Value{unknownContent(n.Block)}
	}
	switch {
	case len(content) == 0:
		return n.EmptyValue()
	case n.Nesting == schema.Set:
		return cty.SetVal(content)
	}
	return cty.ListVal(content)
}

// unknownContent stands for an unknown block: a block is never unknown
// itself, its attributes are.
func unknownContent(b *schema.Block) cty.Value {
	values := make(map[string]cty.Value, len(b.Attributes)+len(b.Blocks))
	for name, a := range b.Attributes {
		values[name] = cty.UnknownVal(a.ImpliedType())
	}
	for name, nested := range b.Blocks {
		inner := unknownContent(nested.Block)
		switch nested.Nesting {
		case schema.List:
			values[name] = cty.ListVal([]cty.Value{inner})
		case schema.Set:
			values[name] = cty.SetVal([]cty.Value{inner})
		case schema.Map:
			values[name] = nested.EmptyValue()
		default:
			values[name] = inner
		}
	}
	return cty.ObjectVal(values)
}

// UnknownAsNull puts null where a value is unknown, for keeping what is known
// of an object that came back incomplete.
func UnknownAsNull(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	if !v.IsKnown() {
		return cty.NullVal(v.Type())
	}
	ty := v.Type()
	switch {
	case ty.IsObjectType(), ty.IsMapType():
		values := v.AsValueMap()
		for key, inner := range values {
			values[key] = UnknownAsNull(inner)
		}
		return mapLike(v, values)
	case ty.IsListType(), ty.IsTupleType(), ty.IsSetType():
		values := v.AsValueSlice()
		for i, inner := range values {
			values[i] = UnknownAsNull(inner)
		}
		if ty.IsSetType() {
			return setLike(v, values)
		}
		return listLike(v, values)
	}
	return v
}

// StripUnknownAttributes drops members of a stored object that its type
// doesn't have, so that an object written by another version of the provider
// can be decoded. JSON that has none, or that isn't of such a shape, comes
// back as it was.
func StripUnknownAttributes(stored []byte, ty cty.Type) []byte {
	if value.FitsJSON(stored, ty) {
		return stored
	}
	out, changed := strip(stored, ty)
	if !changed {
		return stored
	}
	return out
}

// strip works on undecoded members, so that what is kept keeps its bytes.
func strip(stored json.RawMessage, ty cty.Type) (json.RawMessage, bool) {
	switch {
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		var members []json.RawMessage
		if !opens(stored, '[') || json.Unmarshal(stored, &members) != nil {
			return stored, false
		}
		changed := false
		for i := range members {
			inner, ok := elementType(ty, i)
			if !ok {
				continue
			}
			kept, stripped := strip(members[i], inner)
			if stripped {
				members[i], changed = kept, true
			}
		}
		return encode(stored, members, changed)
	case ty.IsMapType(), ty.IsObjectType():
		var members map[string]json.RawMessage
		if !opens(stored, '{') || json.Unmarshal(stored, &members) != nil {
			return stored, false
		}
		changed := false
		for name, member := range members {
			var inner cty.Type
			switch {
			case ty.IsMapType():
				inner = ty.ElementType()
			case ty.HasAttribute(name):
				inner = ty.AttributeType(name)
			default:
				delete(members, name)
				changed = true
				continue
			}
			kept, stripped := strip(member, inner)
			if stripped {
				members[name], changed = kept, true
			}
		}
		return encode(stored, members, changed)
	}
	return stored, false
}

func elementType(ty cty.Type, i int) (cty.Type, bool) {
	if !ty.IsTupleType() {
		return ty.ElementType(), true
	}
	types := ty.TupleElementTypes()
	if i >= len(types) {
		return cty.NilType, false
	}
	return types[i], true
}

func opens(stored []byte, with byte) bool {
	stored = bytes.TrimLeft(stored, " \t\r\n")
	return len(stored) > 0 && stored[0] == with
}

func encode(stored json.RawMessage, members any, changed bool) (json.RawMessage, bool) {
	if !changed {
		return stored, false
	}
	out, err := json.Marshal(members)
	if err != nil {
		return stored, false
	}
	return out, true
}
