package value

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// FromJSON reads the JSON form of a value of that type, the inverse of JSON.
// Attributes that are missing are null; an attribute that the type doesn't
// have is an error, which carries its path like all others.
func FromJSON(raw []byte, ty cty.Type) (cty.Value, error) {
	r := jsonReader{src: raw}
	if v, ok := r.value(ty, 0); ok && r.peek() == 0 && r.pos == len(raw) {
		return v, nil
	}
	return ctyjson.Unmarshal(raw, ty)
}

// FitsJSON reports whether all members of objects in the text are attributes
// of the type. It is false, too, for what isn't JSON of such a shape.
func FitsJSON(raw []byte, ty cty.Type) bool {
	r := jsonReader{src: raw}
	return r.fits(ty, 0) && r.peek() == 0 && r.pos == len(raw)
}

// A jsonReader reads in one pass what is usual in states. About anything else
// it says not ok, and the reader of package cty decides: values of odd types,
// conversions, mistakes. So it has to be right in what it accepts, and needs no
// messages.
type jsonReader struct {
	src []byte
	pos int
}

// maxNesting is how deep the text may nest before it is left to the other
// reader.
const maxNesting = 200

// peek skips white space and returns the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; c {
		case ' ', '\n', '\t', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// take skips the next byte if it is that one.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.pos++
	return true
}

func (r *jsonReader) word(text string) bool {
	if len(r.src)-r.pos < len(text) || string(r.src[r.pos:r.pos+len(text)]) != text {
		return false
	}
	r.pos += len(text)
	return true
}

func (r *jsonReader) value(ty cty.Type, depth int) (cty.Value, bool) {
	if r.peek() == 'n' {
		return cty.NullVal(ty), r.word("null")
	}
	if depth > maxNesting {
		return cty.NilVal, false
	}
	switch {
	case ty == cty.String:
		s, ok := r.text()
		return cty.StringVal(s), ok
	case ty == cty.Bool:
		if r.peek() == 't' {
			return cty.True, r.word("true")
		}
		return cty.False, r.word("false")
	case ty == cty.Number:
		n, err := cty.ParseNumberVal(string(r.number()))
		return n, err == nil
	case ty == cty.DynamicPseudoType:
		return r.dynamic(depth)
	case ty.IsObjectType():
		return r.object(ty, depth)
	case ty.IsTupleType():
		return r.tuple(ty.TupleElementTypes(), depth)
	case ty.IsMapType():
		return r.mapping(ty.ElementType(), depth)
	case ty.IsListType(), ty.IsSetType():
		return r.list(ty, depth)
	}
	return cty.NilVal, false
}

// members calls f for each member of an object; f reads its value.
func (r *jsonReader) members(f func(name string) bool) bool {
	if !r.take('{') {
		return false
	}
	if r.take('}') {
		return true
	}
	for {
		r.peek()
		name, ok := r.text()
		if !ok || !r.take(':') || !f(name) {
			return false
		}
		if r.take('}') {
			return true
		}
		if !r.take(',') {
			return false
		}
	}
}

// elements calls f for each element of an array; f reads it.
func (r *jsonReader) elements(f func(i int) bool) bool {
	if !r.take('[') {
		return false
	}
	if r.take(']') {
		return true
	}
	for i := 0; ; i++ {
		if !f(i) {
			return false
		}
		if r.take(']') {
			return true
		}
		if !r.take(',') {
			return false
		}
	}
}

func (r *jsonReader) object(ty cty.Type, depth int) (cty.Value, bool) {
	types := ty.AttributeTypes()
	values := make(map[string]cty.Value, len(types))
	ok := r.members(func(name string) bool {
		ty, ok := types[name]
		if !ok {
			return false
		}
		v, ok := r.value(ty, depth+1)
		values[name] = v
		return ok
	})
	if !ok {
		return cty.NilVal, false
	}
	if len(values) < len(types) {
		for name, ty := range types {
			if _, there := values[name]; !there {
				values[name] = cty.NullVal(ty)
			}
		}
	}
	return cty.ObjectVal(values), true
}

func (r *jsonReader) tuple(types []cty.Type, depth int) (cty.Value, bool) {
	values := make([]cty.Value, len(types))
	n := 0
	ok := r.elements(func(i int) (ok bool) {
		if i >= len(types) {
			return false
		}
		n++
		values[i], ok = r.value(types[i], depth+1)
		return ok
	})
	return cty.TupleVal(values), ok && n == len(types)
}

func (r *jsonReader) mapping(element cty.Type, depth int) (cty.Value, bool) {
	if element.HasDynamicTypes() {
		return cty.NilVal, false
	}
	values := map[string]cty.Value{}
	ok := r.members(func(name string) (ok bool) {
		values[name], ok = r.value(element, depth+1)
		return ok
	})
	switch {
	case !ok:
		return cty.NilVal, false
	case len(values) == 0:
		return cty.MapValEmpty(element), true
	}
	return cty.MapVal(values), true
}

func (r *jsonReader) list(ty cty.Type, depth int) (cty.Value, bool) {
	element := ty.ElementType()
	if element.HasDynamicTypes() {
		return cty.NilVal, false
	}
	var values []cty.Value
	ok := r.elements(func(int) bool {
		v, ok := r.value(element, depth+1)
		values = append(values, v)
		return ok
	})
	switch {
	case !ok:
		return cty.NilVal, false
	case ty.IsSetType() && len(values) == 0:
		return cty.SetValEmpty(element), true
	case ty.IsSetType():
		return cty.SetVal(values), true
	case len(values) == 0:
		return cty.ListValEmpty(element), true
	}
	return cty.ListVal(values), true
}

// dynamic reads an object with a value and its type, in any order.
func (r *jsonReader) dynamic(depth int) (cty.Value, bool) {
	at, ty := -1, cty.NilType
	ok := r.members(func(name string) (ok bool) {
		r.peek()
		start := r.pos
		switch name {
		case "value":
			at, ok = start, at < 0 && r.skip(depth+1)
		case "type":
			if !r.skip(depth + 1) {
				return false
			}
			ty, ok = typeFromJSON(r.src[start:r.pos])
		}
		return ok
	})
	if !ok || at < 0 || ty == cty.NilType {
		return cty.NilVal, false
	}
	end := r.pos
	r.pos = at
	v, ok := r.value(ty, depth+1)
	r.pos = end
	return v, ok
}

func typeFromJSON(raw []byte) (cty.Type, bool) {
	switch string(raw) {
	case `"string"`:
		return cty.String, true
	case `"number"`:
		return cty.Number, true
	case `"bool"`:
		return cty.Bool, true
	}
	ty, err := ctyjson.UnmarshalType(raw)
	return ty, err == nil
}

// skip reads any value without a look at it.
func (r *jsonReader) skip(depth int) bool {
	return r.fits(cty.DynamicPseudoType, depth)
}

// fits reads any value and reports whether its objects have no other members
// than the type has attributes.
func (r *jsonReader) fits(ty cty.Type, depth int) bool {
	if depth > maxNesting {
		return false
	}
	switch c := r.peek(); c {
	case '{':
		return r.members(func(name string) bool {
			inner := cty.DynamicPseudoType
			switch {
			case ty.IsObjectType():
				if !ty.HasAttribute(name) {
					return false
				}
				inner = ty.AttributeType(name)
			case ty.IsMapType():
				inner = ty.ElementType()
			}
			return r.fits(inner, depth+1)
		})
	case '[':
		return r.elements(func(i int) bool {
			inner := cty.DynamicPseudoType
			switch {
			case ty.IsListType(), ty.IsSetType():
				inner = ty.ElementType()
			case ty.IsTupleType() && i < ty.Length():
				inner = ty.TupleElementType(i)
			}
			return r.fits(inner, depth+1)
		})
	case '"':
		_, ok := r.raw()
		return ok
	case 'n':
		return r.word("null")
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	}
	return len(r.number()) > 0
}

// number reads a number as JSON allows it; none is empty.
func (r *jsonReader) number() []byte {
	start := r.pos
	digits := func() int {
		from := r.pos
		for r.pos < len(r.src) && '0' <= r.src[r.pos] && r.src[r.pos] <= '9' {
			r.pos++
		}
		return r.pos - from
	}
	sign := func(chars string) {
		if r.pos < len(r.src) && (r.src[r.pos] == chars[0] || r.src[r.pos] == chars[1]) {
			r.pos++
		}
	}
	sign("--")
	from := r.pos
	if n := digits(); n == 0 || n > 1 && r.src[from] == '0' {
		return nil
	}
	if r.pos < len(r.src) && r.src[r.pos] == '.' {
		r.pos++
		if digits() == 0 {
			return nil
		}
	}
	if r.pos < len(r.src) && (r.src[r.pos] == 'e' || r.src[r.pos] == 'E') {
		r.pos++
		sign("+-")
		if digits() == 0 {
			return nil
		}
	}
	return r.src[start:r.pos]
}

// raw reads a string and returns it as written, with its quotes.
func (r *jsonReader) raw() (text []byte, ok bool) {
	start := r.pos
	if start >= len(r.src) || r.src[start] != '"' {
		return nil, false
	}
	for i := start + 1; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.pos = i + 1
			return r.src[start:r.pos], true
		case c == '\\':
			i++
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// text reads a string.
func (r *jsonReader) text() (string, bool) {
	raw, ok := r.raw()
	if !ok {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	plain := true
	for _, c := range inner {
		if c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return string(inner), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}
