package value

import "github.com/zclconf/go-cty/cty"

// MaxSize is how large, in bytes of memory, a value may become that is made in a
// configuration. No provider takes a larger one than this default. It is set before
// anything is evaluated.
var MaxSize = 128 << 20

// MaxTotal is how large, in bytes of memory, the values may become together that one
// evaluation of a configuration makes. It is set before anything is evaluated.
var MaxTotal int64 = 4 << 30

// partSize is about what a part of a value takes beside its text.
const partSize = 64

// Size estimates the memory that a value takes, in bytes. It stops looking when that is more
// than limit. Parts that a value has more than once count each time, as they do for code that
// goes through it. A finite number with more digits than can be written is more than any
// limit.
func Size(v cty.Value, limit int) int {
	n := 0
	anyPart(v, func(v cty.Value) bool {
		n += partSize
		switch v.Type() {
		case cty.String:
			if v, _ = v.Unmark(); v.IsKnown() && !v.IsNull() {
				n += len(v.AsString())
			}
		case cty.Number:
			if v, _ = v.Unmark(); unwritable(v) && !v.AsBigFloat().IsInf() {
				n = limit + 1
			}
		}
		return n > limit
	})
	return n
}

// TypeSize estimates the memory that a value of a type takes as far as its parts
// are in the type, in bytes. It stops looking when that is more than limit.
func TypeSize(ty cty.Type, limit int) int {
	n := partSize
	add := func(part cty.Type) bool {
		n += TypeSize(part, limit-n)
		return n <= limit
	}
	switch {
	case ty.IsTupleType():
		for _, part := range ty.TupleElementTypes() {
			if !add(part) {
				break
			}
		}
	case ty.IsObjectType():
		for _, part := range ty.AttributeTypes() {
			if !add(part) {
				break
			}
		}
	}
	return n
}
