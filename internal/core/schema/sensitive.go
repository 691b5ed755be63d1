package schema

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// SensitivePaths lists the parts of v that the block declares to be sensitive,
// attributes without a value included. v has the block's implied type, or that
// of another version of it: what v lacks is passed over. Elements of sets are
// named by their value.
func (b *Block) SensitivePaths(v cty.Value) []cty.Path {
	if !b.HasSensitive() {
		return nil
	}
	var paths []cty.Path
	b.sensitive(v, nil, &paths)
	return paths
}

func (b *Block) sensitive(v cty.Value, at cty.Path, paths *[]cty.Path) {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return
	}
	sensitiveAttributes(b.Attributes, v, at, paths)
	for _, name := range b.Names() {
		nested, ok := b.Blocks[name]
		if !ok || !nested.HasSensitive() {
			continue
		}
		each(part(v, name), nested.Nesting, attr(at, name), func(v cty.Value, at cty.Path) {
			nested.Block.sensitive(v, at, paths)
		})
	}
}

func sensitiveAttributes(attributes map[string]*Attribute, v cty.Value, at cty.Path, paths *[]cty.Path) {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return
	}
	for name, a := range attributes {
		switch {
		case a.Sensitive && v.Type().IsObjectType() && v.Type().HasAttribute(name):
			*paths = append(*paths, attr(at, name))
		case a.Nested != nil && a.Nested.hasSensitive():
			each(part(v, name), a.Nested.Nesting, attr(at, name), func(v cty.Value, at cty.Path) {
				sensitiveAttributes(a.Nested.Attributes, v, at, paths)
			})
		}
	}
}

// each visits the objects that are grouped in v.
func each(v cty.Value, n Nesting, at cty.Path, visit func(cty.Value, cty.Path)) {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown() || !v.CanIterateElements():
	case n == Single || n == Group:
		visit(v, at)
	default:
		for key, element := range v.Elements() {
			visit(element, append(slices.Clip(at), cty.IndexStep{Key: key}))
		}
	}
}

// part is an attribute of v, or null.
func part(v cty.Value, name string) cty.Value {
	if !v.Type().IsObjectType() || !v.Type().HasAttribute(name) {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return v.GetAttr(name)
}

func attr(at cty.Path, name string) cty.Path {
	return append(slices.Clip(at), cty.GetAttrStep{Name: name})
}
