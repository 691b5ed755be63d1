package contract

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// WriteOnlyNull checks that an object which a provider returned has null in
// all write-only attributes: their values exist in the configuration alone.
func WriteOnlyNull(b *schema.Block, v cty.Value) []error {
	if !HasWriteOnly(b) {
		return nil
	}
	p := &problems{}
	p.writeOnly(nil, ofBlock(b), v)
	return p.sorted()
}

func (p *problems) writeOnly(at *place, s shape, v cty.Value) {
	if !known(v) {
		return
	}
	for name, a := range s.attributes {
		inner := part(v, name)
		switch {
		case missing(inner):
		case a.WriteOnly:
			p.addf(at.attr(name), "write-only attribute must be null in a result")
		case a.Nested != nil:
			p.writeOnlyNested(at.attr(name), ofObject(a.Nested), a.Nested.Nesting, inner)
		}
	}
	for name, nested := range s.blocks {
		if inner := part(v, name); !missing(inner) {
			p.writeOnlyNested(at.attr(name), ofBlock(nested.Block), nested.Nesting, inner)
		}
	}
}

func (p *problems) writeOnlyNested(at *place, s shape, n schema.Nesting, v cty.Value) {
	if n == schema.Single || n == schema.Group {
		p.writeOnly(at, s, v)
		return
	}
	if !known(v) {
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		key, element := it.Element()
		p.writeOnly(at.index(key), s, element)
	}
}

// StripWriteOnly puts null in all write-only attributes, for what is stored.
func StripWriteOnly(b *schema.Block, v cty.Value) cty.Value {
	if !HasWriteOnly(b) {
		return v
	}
	return eraseAttributes(b, v, func(a *schema.Attribute) bool { return a.WriteOnly })
}

// HasWriteOnly reports whether any attribute in the block is write-only.
func HasWriteOnly(b *schema.Block) bool { return hasWriteOnly(ofBlock(b)) }

func hasWriteOnly(s shape) bool {
	for _, a := range s.attributes {
		if a.WriteOnly || a.Nested != nil && hasWriteOnly(ofObject(a.Nested)) {
			return true
		}
	}
	for _, nested := range s.blocks {
		if hasWriteOnly(ofBlock(nested.Block)) {
			return true
		}
	}
	return false
}
