package schema

import "github.com/zclconf/go-cty/cty"

// DecodeType is the type that configured values are converted to: as
// ImpliedType, but attributes that needn't be set may be left out.
func (o *Object) DecodeType() cty.Type {
	types := make(map[string]cty.Type, len(o.Attributes))
	var optional []string
	for name, a := range o.Attributes {
		types[name] = a.Type
		if a.Nested != nil {
			types[name] = a.Nested.DecodeType()
		}
		if !a.Required {
			optional = append(optional, name)
		}
	}
	return nest(cty.ObjectWithOptionalAttrs(types, optional), o.Nesting)
}
