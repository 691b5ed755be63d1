package syntax

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
)

// A JSONKind is the kind of a JSON value.
type JSONKind uint8

const (
	JSONNull JSONKind = iota
	JSONBool
	JSONNumber
	JSONString
	JSONArray
	JSONObject
)

func (k JSONKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// A JSONValue is one value of a JSON document. Expr is the value read as an
// expression; the expressions of arrays and objects contain those of their
// parts, so a rewrite that works in place reaches every reading of a value.
type JSONValue struct {
	Kind    JSONKind
	Expr    hclsyntax.Expression
	Members []JSONMember // of an object, in source order
	Elems   []*JSONValue // of an array
	Range   hcl.Range
	Open    hcl.Range // the opening bracket of an array or object
	Close   hcl.Range
}

// A JSONMember is one property of an object.
type JSONMember struct {
	Name      string
	Key       *StringExpr
	NameRange hcl.Range
	Value     *JSONValue
}

// parseJSON reads a document whose value is a body.
func parseJSON(name string, src []byte) (hcl.Body, diag.List) {
	r := &jsonReader{name: name, src: src, line: 1, column: 1}
	if len(src) >= 3 && string(src[:3]) == "\xef\xbb\xbf" {
		r.pos = 3
	}
	value := r.document()
	if value == nil {
		return emptyBody(name, true), r.diags
	}
	if value.Kind != JSONObject && value.Kind != JSONArray {
		r.diags.Add(Invalid.As("Root value must be object").Error(value.Range, "The root value in a JSON-based configuration must be either a JSON object or a JSON array of objects."))
		return emptyBody(name, true), r.diags
	}
	return newJSONBody(value), r.diags
}

// A jsonReader reads JSON with exact positions. After a syntax error the rest
// of the document is given up; what was read stays.
type jsonReader struct {
	name         string
	src          []byte
	pos          int
	line, column int
	depth        int
	failed       bool
	diags        diag.List
}

func (r *jsonReader) at() hcl.Pos { return hcl.Pos{Line: r.line, Column: r.column, Byte: r.pos} }

func (r *jsonReader) rangeFrom(start hcl.Pos) hcl.Range {
	return hcl.Range{Filename: r.name, Start: start, End: r.at()}
}

func (r *jsonReader) fail(start hcl.Pos, summary, format string, args ...any) {
	if r.failed {
		return
	}
	r.failed = true
	rng := r.rangeFrom(start)
	if rng.Empty() && r.pos < len(r.src) {
		rng.End.Byte++
		rng.End.Column++
	}
	r.diags.Add(Invalid.As(summary).Error(rng, "%s", fmt.Sprintf(format, args...)))
}

// advance moves over n bytes of one line.
func (r *jsonReader) advance(n int) {
	r.column += utf8.RuneCount(r.src[r.pos : r.pos+n])
	r.pos += n
}

func (r *jsonReader) space() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\r':
			r.pos++
			r.column++
		case '\n':
			r.pos++
			r.line++
			r.column = 1
		default:
			return
		}
	}
}

func (r *jsonReader) peek() byte {
	r.space()
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}

func (r *jsonReader) document() *JSONValue {
	if r.peek() == 0 && r.pos >= len(r.src) {
		r.fail(r.at(), "Missing JSON value", "A JSON document must contain an object.")
		return nil
	}
	value := r.value()
	if !r.failed && r.peek() != 0 {
		r.fail(r.at(), "Extraneous data after value", "Extra characters appear after the JSON value.")
	}
	return value
}

// value reads one value; it is nil only without one.
func (r *jsonReader) value() *JSONValue {
	c := r.peek()
	start := r.at()
	switch {
	case c == '{' || c == '[':
		if r.depth >= maxBrackets {
			r.fail(start, "Too deeply nested", "This is nested more deeply than %d brackets.", maxBrackets)
			return nil
		}
		r.depth++
		defer func() { r.depth-- }()
		if c == '{' {
			return r.object(start)
		}
		return r.array(start)
	case c == '"':
		text, rng, ok := r.str()
		if !ok {
			return nil
		}
		return &JSONValue{Kind: JSONString, Expr: newStringExpr(text, rng), Range: rng}
	case c == '-' || '0' <= c && c <= '9':
		return r.number(start)
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return r.keyword(start)
	case c == 0 && r.pos >= len(r.src):
		r.fail(start, "Missing JSON value", "The document ends where a value is expected.")
	default:
		r.fail(start, "Invalid start of value", "A JSON value must be an object, an array, a string, a number, true, false or null.")
	}
	return nil
}

func (r *jsonReader) keyword(start hcl.Pos) *JSONValue {
	end := r.pos
	for end < len(r.src) && (r.src[end] >= 'a' && r.src[end] <= 'z' || r.src[end] >= 'A' && r.src[end] <= 'Z') {
		end++
	}
	word := string(r.src[r.pos:end])
	r.advance(end - r.pos)
	v := &JSONValue{Range: r.rangeFrom(start)}
	value := cty.NullVal(cty.DynamicPseudoType)
	switch word {
	case "true", "false":
		v.Kind = JSONBool
		value = cty.BoolVal(word == "true")
	case "null":
	default:
		r.fail(start, "Invalid JSON keyword", "%q is not a valid JSON keyword: true, false and null are.", word)
	}
	v.Expr = &hclsyntax.LiteralValueExpr{Val: value, SrcRange: v.Range}
	return v
}

func (r *jsonReader) number(start hcl.Pos) *JSONValue {
	end := r.pos
	for end < len(r.src) {
		c := r.src[end]
		if c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E' {
			end++
			continue
		}
		break
	}
	text := string(r.src[r.pos:end])
	r.advance(end - r.pos)
	v := &JSONValue{Kind: JSONNumber, Range: r.rangeFrom(start)}
	number := cty.UnknownVal(cty.Number)
	if !json.Valid([]byte(text)) {
		r.fail(start, "Invalid JSON number", "%q is not a JSON number.", text)
	} else if n, err := cty.ParseNumberVal(text); err != nil {
		r.fail(start, "Invalid JSON number", "%q is not a number that can be represented.", text)
	} else {
		number = n
	}
	v.Expr = &hclsyntax.LiteralValueExpr{Val: number, SrcRange: v.Range}
	return v
}

// str reads a string. Its range has the quotes.
func (r *jsonReader) str() (string, hcl.Range, bool) {
	start := r.at()
	plain := true
	end := r.pos + 1
	for ; ; end++ {
		if end >= len(r.src) || r.src[end] == '\n' {
			r.advance(min(end, len(r.src)) - r.pos) // what a backslash stands before may be missing
			r.fail(start, "Unclosed string", "A JSON string must be closed by a quote on the same line.")
			return "", hcl.Range{}, false
		}
		c := r.src[end]
		if c == '"' {
			break
		}
		if c == '\\' {
			plain = false
			end++
		} else if c < ' ' {
			plain = false // not allowed; the decoder says so
		}
	}
	raw := r.src[r.pos : end+1]
	r.advance(len(raw))
	rng := r.rangeFrom(start)
	if plain {
		return string(raw[1 : len(raw)-1]), rng, true
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		r.fail(start, "Invalid JSON string", "The string can't be read: %s.", err)
		return "", rng, false
	}
	return text, rng, true
}

func (r *jsonReader) array(start hcl.Pos) *JSONValue {
	r.advance(1)
	v := &JSONValue{Kind: JSONArray, Open: r.rangeFrom(start)}
	for r.peek() != ']' {
		elem := r.value()
		if elem == nil {
			break
		}
		v.Elems = append(v.Elems, elem)
		if r.failed {
			break
		}
		if !r.separator(']', "array") {
			break
		}
	}
	v.Close = r.closing(']', start, "array")
	v.Range = r.rangeFrom(start)
	exprs := make([]hclsyntax.Expression, len(v.Elems))
	for i, e := range v.Elems {
		exprs[i] = e.Expr
	}
	v.Expr = &hclsyntax.TupleConsExpr{Exprs: exprs, SrcRange: v.Range, OpenRange: v.Open}
	return v
}

func (r *jsonReader) object(start hcl.Pos) *JSONValue {
	r.advance(1)
	v := &JSONValue{Kind: JSONObject, Open: r.rangeFrom(start)}
	for r.peek() != '}' {
		if r.peek() != '"' {
			r.fail(r.at(), "Invalid object property name", "A JSON object property name must be a string in quotes.")
			break
		}
		name, nameRange, ok := r.str()
		if !ok {
			break
		}
		if r.peek() != ':' {
			r.fail(r.at(), "Missing property value colon", "JSON object property names must be separated from their values by a colon.")
			break
		}
		r.advance(1)
		value := r.value()
		if value == nil {
			break
		}
		v.Members = append(v.Members, JSONMember{name, newStringExpr(name, nameRange), nameRange, value})
		if r.failed {
			break
		}
		if !r.separator('}', "object") {
			break
		}
	}
	v.Close = r.closing('}', start, "object")
	v.Range = r.rangeFrom(start)
	items := make([]hclsyntax.ObjectConsItem, len(v.Members))
	for i, m := range v.Members {
		items[i] = hclsyntax.ObjectConsItem{KeyExpr: m.Key, ValueExpr: m.Value.Expr}
	}
	v.Expr = &hclsyntax.ObjectConsExpr{Items: items, SrcRange: v.Range, OpenRange: v.Open}
	return v
}

// separator reads a comma, unless the closing bracket follows, and reports
// whether to go on.
func (r *jsonReader) separator(closer byte, what string) bool {
	switch r.peek() {
	case ',':
		comma := r.at()
		r.advance(1)
		if r.peek() == closer {
			r.fail(comma, "Trailing comma in "+what, "JSON does not permit a trailing comma after the last item of an %s.", what)
			return false
		}
		return true
	case closer:
		return true
	}
	if r.pos >= len(r.src) {
		return false // closing reports it
	}
	r.fail(r.at(), "Missing separator in "+what, "The items of a JSON %s must be separated by commas.", what)
	return false
}

func (r *jsonReader) closing(closer byte, start hcl.Pos, what string) hcl.Range {
	at := r.at()
	if !r.failed && r.peek() == closer {
		at = r.at()
		r.advance(1)
	} else {
		r.fail(start, "Unclosed "+what, "The closing bracket of this JSON %s is missing.", what)
	}
	return r.rangeFrom(at)
}
