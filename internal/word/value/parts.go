package value

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// ContainsMarked reports whether v or any part of it has marks. The method of
// that name makes paths and sorts names on its way through every object.
func ContainsMarked(v cty.Value) bool { return anyPart(v, cty.Value.IsMarked) }

// WhollyKnown reports whether no part of v is unknown.
func WhollyKnown(v cty.Value) bool {
	return !anyPart(v, func(v cty.Value) bool { return !v.IsKnown() })
}

// anyPart reports whether something holds for v or a part of it.
func anyPart(v cty.Value, holds func(cty.Value) bool) bool {
	if holds(v) {
		return true
	}
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return false
	}
	switch ty := v.Type(); {
	case ty.IsPrimitiveType():
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			if anyPart(v.GetAttr(name), holds) {
				return true
			}
		}
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			if _, element := it.Element(); anyPart(element, holds) {
				return true
			}
		}
	}
	return false
}

// maxExponent bounds the numbers that are written out, to some 300,000 digits.
const maxExponent = 1 << 20

// Unwritable finds a number in v that no file can have: an infinite one, or one
// with more digits than anybody can have meant.
func Unwritable(v cty.Value) (at cty.Path, found bool) {
	if !mayCount(v.Type()) || !anyPart(v, unwritable) {
		return nil, false
	}
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		if !found && unwritable(v) {
			at, found = p.Copy(), true
		}
		return !found, nil
	})
	return at, found
}

// mayCount reports whether a value of the type may have a number in it.
func mayCount(ty cty.Type) bool {
	switch {
	case ty.IsPrimitiveType():
		return ty == cty.Number
	case ty.IsCollectionType():
		return mayCount(ty.ElementType())
	case ty.IsObjectType():
		for _, attr := range ty.AttributeTypes() {
			if mayCount(attr) {
				return true
			}
		}
		return false
	case ty.IsTupleType():
		return slices.ContainsFunc(ty.TupleElementTypes(), mayCount)
	}
	return true
}

func unwritable(v cty.Value) bool {
	if v.Type() != cty.Number {
		return false
	}
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return false
	}
	n := v.AsBigFloat()
	exponent := n.MantExp(nil)
	return n.IsInf() || exponent > maxExponent || exponent < -maxExponent
}
