package value

import (
	"iter"
	"math/big"
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
		for element := range Elements(v) {
			if anyPart(element, holds) {
				return true
			}
		}
	}
	return false
}

// firstIndices are those that most lists do with.
var firstIndices = [...]cty.Value{
	cty.NumberIntVal(0), cty.NumberIntVal(1), cty.NumberIntVal(2), cty.NumberIntVal(3),
	cty.NumberIntVal(4), cty.NumberIntVal(5), cty.NumberIntVal(6), cty.NumberIntVal(7),
}

// Attributes are those of a known object, which isn't null and has no marks of its own, by
// name. The library's method sorts the names, and makes a value of each.
func Attributes(v cty.Value) map[string]cty.Value {
	types := v.Type().AttributeTypes()
	values := make(map[string]cty.Value, len(types))
	for name := range types {
		values[name] = v.GetAttr(name)
	}
	return values
}

// Elements goes through a known value that can be iterated and has no marks of its
// own. The library's iterators make a number for each element of a list, which takes
// longer than most of what is done with the element.
func Elements(v cty.Value) iter.Seq[cty.Value] {
	return func(yield func(cty.Value) bool) {
		if ty := v.Type(); !ty.IsListType() && !ty.IsTupleType() {
			for it := v.ElementIterator(); it.Next(); {
				if _, element := it.Element(); !yield(element) {
					return
				}
			}
			return
		}
		var at *big.Float // changed in place: Index doesn't keep it
		for i := range v.LengthInt() {
			var index cty.Value
			switch {
			case i < len(firstIndices):
				index = firstIndices[i]
			case at == nil:
				at = new(big.Float)
				fallthrough
			default:
				index = cty.NumberVal(at.SetInt64(int64(i)))
			}
			if !yield(v.Index(index)) {
				return
			}
		}
	}
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
