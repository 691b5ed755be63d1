package value

import "github.com/zclconf/go-cty/cty"

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
