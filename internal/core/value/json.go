package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// JSON writes v as its type ty demands, the form that states and plan files
// store: parts whose place in ty is dynamic are wrapped as {"value","type"}.
// Marks are dropped. Unknown parts are an error that carries their path.
func JSON(v cty.Value, ty cty.Type) ([]byte, error) {
	if ContainsMarked(v) {
		v, _ = v.UnmarkDeep()
	}
	if b, ok := appendJSON(nil, v, ty); ok {
		return b, nil
	}
	return ctyjson.Marshal(v, ty)
}

// appendJSON writes what package cty would, faster. When it isn't ok, that
// package knows what is wrong.
func appendJSON(b []byte, v cty.Value, ty cty.Type) (_ []byte, ok bool) {
	if !v.IsKnown() {
		return b, false
	}
	if ty == cty.DynamicPseudoType && v.Type() != cty.DynamicPseudoType {
		return appendDynamic(b, v)
	}
	if v.IsNull() {
		return append(b, "null"...), true
	}
	switch {
	case ty == cty.String:
		b, err := appendString(b, v.AsString())
		return b, err == nil
	case ty == cty.Number:
		n := v.AsBigFloat()
		return appendNumber(b, n), !n.IsInf()
	case ty == cty.Bool:
		return appendBool(b, v.True()), true
	case ty.IsObjectType(), ty.IsMapType():
		b = append(b, '{')
		start := len(b)
		for key, elem := range v.Elements() {
			name := key.AsString()
			var inner cty.Type
			switch {
			case ty.IsMapType():
				inner = ty.ElementType()
			case !ty.HasAttribute(name):
				return b, false
			default:
				inner = ty.AttributeType(name)
			}
			var err error
			if b, err = appendKey(b, start, name); err != nil {
				return b, false
			}
			if b, ok = appendJSON(b, elem, inner); !ok {
				return b, false
			}
		}
		return append(b, '}'), true
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		b = append(b, '[')
		i := 0
		for _, elem := range v.Elements() {
			var inner cty.Type
			switch {
			case !ty.IsTupleType():
				inner = ty.ElementType()
			case i >= ty.Length():
				return b, false
			default:
				inner = ty.TupleElementType(i)
			}
			if i++; i > 1 {
				b = append(b, ',')
			}
			if b, ok = appendJSON(b, elem, inner); !ok {
				return b, false
			}
		}
		return append(b, ']'), true
	}
	return b, false
}

func appendDynamic(b []byte, v cty.Value) ([]byte, bool) {
	b = append(b, `{"value":`...)
	b, ok := appendJSON(b, v, v.Type())
	if !ok {
		return b, false
	}
	b = append(b, `,"type":`...)
	switch v.Type() {
	case cty.String:
		b = append(b, `"string"`...)
	case cty.Number:
		b = append(b, `"number"`...)
	case cty.Bool:
		b = append(b, `"bool"`...)
	default:
		ty, err := ctyjson.MarshalType(v.Type())
		if err != nil {
			return b, false
		}
		b = append(b, ty...)
	}
	return append(b, '}'), true
}

// appendNumber writes a number in full. Whole numbers of usual size don't
// need the general way, which is slow.
func appendNumber(b []byte, n *big.Float) []byte {
	if i, accuracy := n.Int64(); accuracy == big.Exact && (i != 0 || !n.Signbit()) {
		return strconv.AppendInt(b, i, 10)
	}
	return n.Append(b, 'f', -1)
}

// After writes v as plan JSON shows a planned value: no type wrappers, marks
// ignored, unknown attributes and map elements left out, unknown elements of
// lists, sets and tuples as null so that positions stay. A value that is
// unknown as a whole gives nil, which means: leave the key out.
func After(v cty.Value) (json.RawMessage, error) {
	if bare, _ := v.Unmark(); !bare.IsKnown() {
		return nil, nil
	}
	return appendAfter(nil, v)
}

func appendAfter(b []byte, v cty.Value) ([]byte, error) {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return append(b, "null"...), nil
	case ty == cty.Bool:
		return appendBool(b, v.True()), nil
	case ty == cty.Number:
		n := v.AsBigFloat()
		if n.IsInf() {
			return nil, errors.New("infinity has no form in JSON")
		}
		return appendNumber(b, n), nil
	case ty == cty.String:
		return appendString(b, v.AsString())
	case ty.IsObjectType() || ty.IsMapType():
		b = append(b, '{')
		start := len(b)
		for key, elem := range v.Elements() {
			if bare, _ := elem.Unmark(); !bare.IsKnown() {
				continue
			}
			var err error
			if b, err = appendKey(b, start, key.AsString()); err != nil {
				return nil, err
			}
			if b, err = appendAfter(b, elem); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		b = append(b, '[')
		start := len(b)
		for _, elem := range v.Elements() {
			if len(b) > start {
				b = append(b, ',')
			}
			var err error
			if b, err = appendAfter(b, elem); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	return nil, fmt.Errorf("a value of type %s has no form in JSON", ty.FriendlyName())
}

// UnknownMask writes the true-tree of the parts of v that are unknown: true
// for an unknown part, false for a known one, objects without their false
// entries, arrays with them. When all of v is known it writes the given text
// instead: plan JSON has "{}" there for resources and "false" for outputs.
func UnknownMask(v cty.Value, none string) json.RawMessage {
	if v.IsWhollyKnown() {
		return json.RawMessage(none)
	}
	return appendMask(nil, v, nil, unknownLeaf)
}

// SensitiveMask writes the true-tree of the parts of v that carry the
// Sensitive mark or are named by one of the paths with that mark in pvms, in
// the form of UnknownMask: false for a plain value, {} for an object that has
// nothing sensitive.
func SensitiveMask(v cty.Value, pvms []cty.PathValueMarks) json.RawMessage {
	var paths []cty.Path
	for _, pvm := range pvms {
		if pvm.Marks.Has(Sensitive) {
			paths = append(paths, pvm.Path)
		}
	}
	SortPaths(paths)
	return appendMask(nil, v, newMaskPaths(paths), sensitiveLeaf)
}

// leaf answers whether the tree ends at v, and with what.
type leaf func(v cty.Value) (answer, ends bool)

func unknownLeaf(v cty.Value) (bool, bool) {
	return !v.IsKnown(), !v.IsKnown() || v.IsNull()
}

func sensitiveLeaf(v cty.Value) (bool, bool) {
	if v.HasMark(Sensitive) {
		return true, true
	}
	bare, _ := v.Unmark()
	return false, bare.IsNull() || bare.Type() == cty.DynamicPseudoType
}

// maskPaths are sorted paths that agree up to depth.
type maskPaths struct {
	paths []cty.Path
	depth int
}

func newMaskPaths(paths []cty.Path) *maskPaths {
	if len(paths) == 0 {
		return nil
	}
	return &maskPaths{paths: paths}
}

// here reports whether a path ends at this depth.
func (m *maskPaths) here() bool { return m != nil && len(m.paths[0]) == m.depth }

// step narrows to the paths that go on with the step, nil for none.
func (m *maskPaths) step(step cty.PathStep) *maskPaths {
	if m == nil {
		return nil
	}
	cmp := func(path cty.Path, step cty.PathStep) int {
		if len(path) <= m.depth {
			return -1
		}
		return compareSteps(path[m.depth], step)
	}
	from, found := slices.BinarySearchFunc(m.paths, step, cmp)
	if !found {
		return nil
	}
	to := from + 1
	for to < len(m.paths) && cmp(m.paths[to], step) == 0 {
		to++
	}
	return &maskPaths{paths: m.paths[from:to], depth: m.depth + 1}
}

func appendMask(b []byte, v cty.Value, paths *maskPaths, ask leaf) []byte {
	if paths.here() {
		return append(b, "true"...)
	}
	if answer, ends := ask(v); ends {
		return appendBool(b, answer)
	}
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case ty.IsObjectType() || ty.IsMapType():
		return appendMaskObject(b, v, paths, ask)
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		b = append(b, '[')
		start := len(b)
		if !v.IsKnown() {
			return append(b, ']')
		}
		for key, elem := range v.Elements() {
			if len(b) > start {
				b = append(b, ',')
			}
			b = appendMask(b, elem, paths.step(cty.IndexStep{Key: key}), ask)
		}
		return append(b, ']')
	}
	return append(b, "false"...)
}

func appendMaskObject(b []byte, v cty.Value, paths *maskPaths, ask leaf) []byte {
	b = append(b, '{')
	if !v.IsKnown() {
		return append(b, '}')
	}
	isObject := v.Type().IsObjectType()
	start := len(b)
	for key, elem := range v.Elements() {
		var step cty.PathStep = cty.IndexStep{Key: key}
		if isObject {
			step = cty.GetAttrStep{Name: key.AsString()}
		}
		before := len(b)
		// A string can always be written, so the error is impossible.
		b, _ = appendKey(b, start, key.AsString())
		at := len(b)
		b = appendMask(b, elem, paths.step(step), ask)
		if string(b[at:]) == "false" {
			b = b[:before]
		}
	}
	return append(b, '}')
}

func appendKey(b []byte, start int, key string) ([]byte, error) {
	if len(b) > start {
		b = append(b, ',')
	}
	b, err := appendString(b, key)
	return append(b, ':'), err
}

func appendString(b []byte, s string) ([]byte, error) {
	if isPlain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"'), nil
	}
	raw, err := json.Marshal(s)
	return append(b, raw...), err
}

// isPlain reports whether a JSON string says the text as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, "true"...)
	}
	return append(b, "false"...)
}
