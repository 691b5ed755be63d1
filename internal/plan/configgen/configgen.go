// Package configgen generates configuration of existing objects that are imported without one.
//
// It owns the choice of what is written: what the schema lets a configuration set and the
// object has. It doesn't ask providers or write files. Secrets are never written.
package configgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
)

// A Choice reports whether an attribute is written; top is false inside of nested blocks and
// attributes.
type Choice func(name string, a *schema.Attribute, v cty.Value, top bool) bool

// Given is for a configuration that the provider wrote: also what weir wouldn't choose, if the
// provider gave it a value.
func Given(name string, a *schema.Attribute, v cty.Value, top bool) bool {
	return Settable(name, a, v, top) || a.Optional && !v.IsNull()
}

// Resource writes a resource block for an object of the block's implied type, or for a
// configuration of it. Provider is the value of the provider argument, or empty.
func Resource(name addr.Name, provider string, b *schema.Block, object cty.Value, choose Choice) string {
	object, _ = object.UnmarkDeep()
	f := hclwrite.NewEmptyFile()
	block := f.Body().AppendNewBlock("resource", []string{name.Type, name.Name})
	if provider != "" {
		block.Body().SetAttributeRaw("provider", raw(provider))
	}
	choose.body(block.Body(), b, object, true)
	return strings.TrimSpace(string(hclwrite.Format(f.Bytes())))
}

// A Block is generated text, and the ID that what it is about was found by, if any.
type Block struct{ Text, From string }

// File is what a file of generated configuration says: tools know generated blocks by
// their comments.
func File(blocks []Block) []byte {
	const by = "# __generated__ by weir"
	text := []byte(by + "\n# Please review these resources and move them into your main configuration files.\n")
	for _, b := range blocks {
		from := ""
		if b.From != "" {
			from = " from " + addr.Quote(b.From)
		}
		text = fmt.Appendf(text, "\n%s%s\n%s\n", by, from, b.Text)
	}
	return text
}

// Import writes an import block for an object by its identity, an object with values
// without marks. Provider is as for Resource.
func Import(to addr.Name, provider string, identity cty.Value) string {
	f := hclwrite.NewEmptyFile()
	block := f.Body().AppendNewBlock("import", nil).Body()
	block.SetAttributeRaw("to", raw(to.Type+"."+to.Name))
	if provider != "" {
		block.SetAttributeRaw("provider", raw(provider))
	}
	set := map[string]cty.Value{}
	for it := identity.ElementIterator(); it.Next(); {
		if name, v := it.Element(); !v.IsNull() {
			set[name.AsString()] = v
		}
	}
	block.SetAttributeValue("identity", cty.ObjectVal(set))
	return strings.TrimSpace(string(hclwrite.Format(f.Bytes())))
}

// body writes attributes, those of the block first, then nested blocks.
func (c Choice) body(out *hclwrite.Body, b *schema.Block, object cty.Value, top bool) {
	for _, name := range b.Names() {
		a := b.Attributes[name]
		if a == nil || !c(name, a, object.GetAttr(name), top) {
			continue
		}
		out.SetAttributeRaw(name, c.attribute(a, object.GetAttr(name)))
	}
	for _, name := range b.Names() {
		nested := b.Blocks[name]
		v := cty.NilVal
		if nested != nil {
			v = object.GetAttr(name)
		}
		if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
			continue
		}
		switch nested.Nesting {
		case schema.Single, schema.Group:
			if nested.Nesting == schema.Single || !unset(v) {
				c.body(out.AppendNewBlock(name, nil).Body(), nested.Block, v, false)
			}
		default:
			for it := v.ElementIterator(); it.Next(); {
				key, element := it.Element()
				var labels []string
				if nested.Nesting == schema.Map {
					labels = []string{key.AsString()}
				}
				c.body(out.AppendNewBlock(name, labels).Body(), nested.Block, element, false)
			}
		}
	}
}

// Settable is everything that a configuration may set: no attribute that only the provider
// computes, no deprecated one unless required, and not the id that old providers let it set.
func Settable(name string, a *schema.Attribute, _ cty.Value, top bool) bool {
	switch {
	case a.Required:
		return true
	case !a.Optional || a.Deprecated:
		return false
	}
	return !(top && name == "id" && a.Computed)
}

// unset reports whether a group has nothing set.
func unset(v cty.Value) bool {
	for _, inner := range v.AsValueMap() {
		if !inner.IsNull() && !(inner.CanIterateElements() && inner.LengthInt() == 0) {
			return false
		}
	}
	return true
}

// attribute is the expression for an attribute. Anything that isn't reported is empty, with a
// comment that says why; what isn't set is null, so that people see what could be.
func (c Choice) attribute(a *schema.Attribute, v cty.Value) hclwrite.Tokens {
	note := ""
	if a.WriteOnly {
		note = " write-only"
	}
	switch {
	case a.Sensitive:
		return raw(empty(a) + " # sensitive" + note)
	case v.IsNull() || !v.IsWhollyKnown():
		if note != "" {
			note = " #" + note
		}
		return raw("null" + note)
	case a.Nested != nil:
		return c.nested(a.Nested, v)
	}
	return value(v)
}

// empty is the expression for an attribute with nothing in it.
func empty(a *schema.Attribute) string {
	switch {
	case a.Nested == nil:
		return "null"
	case a.Nested.Nesting == schema.List || a.Nested.Nesting == schema.Set:
		return "[]"
	}
	return "{}"
}

// nested is the expression for objects with attributes of their own.
func (c Choice) nested(o *schema.Object, v cty.Value) hclwrite.Tokens {
	one := func(v cty.Value) hclwrite.Tokens {
		names := make([]string, 0, len(o.Attributes))
		for name := range o.Attributes {
			names = append(names, name)
		}
		slices.Sort(names)
		var items []hclwrite.ObjectAttrTokens
		for _, name := range names {
			a := o.Attributes[name]
			if !c(name, a, v.GetAttr(name), false) {
				continue
			}
			items = append(items, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(name), Value: c.attribute(a, v.GetAttr(name))})
		}
		return hclwrite.TokensForObject(items)
	}
	switch o.Nesting {
	case schema.Single, schema.Group:
		return one(v)
	case schema.Map:
		var items []hclwrite.ObjectAttrTokens
		for it := v.ElementIterator(); it.Next(); {
			k, element := it.Element()
			items = append(items, hclwrite.ObjectAttrTokens{Name: key(k.AsString()), Value: one(element)})
		}
		return hclwrite.TokensForObject(items)
	}
	if v.LengthInt() == 0 {
		return raw("[]")
	}
	punctuation := func(t hclsyntax.TokenType, text string) *hclwrite.Token {
		return &hclwrite.Token{Type: t, Bytes: []byte(text)}
	}
	newline := punctuation(hclsyntax.TokenNewline, "\n")
	list := hclwrite.Tokens{punctuation(hclsyntax.TokenOBrack, "["), newline}
	for it := v.ElementIterator(); it.Next(); {
		_, element := it.Element()
		list = append(list, one(element)...)
		list = append(list, punctuation(hclsyntax.TokenComma, ","), newline)
	}
	return append(list, punctuation(hclsyntax.TokenCBrack, "]"))
}

func key(text string) hclwrite.Tokens {
	if hclsyntax.ValidIdentifier(text) {
		return hclwrite.TokensForIdentifier(text)
	}
	return hclwrite.TokensForValue(cty.StringVal(text))
}

// value is the expression for a value. JSON in a string is written as a call
// of jsonencode that gives the same text.
func value(v cty.Value) hclwrite.Tokens {
	if v.Type() == cty.String && !v.IsNull() {
		if inner, ok := document(v.AsString()); ok {
			return hclwrite.TokensForFunctionCall("jsonencode", hclwrite.TokensForValue(inner))
		}
	}
	return hclwrite.TokensForValue(v)
}

// document reads a JSON object or array, if writing it again makes the same.
func document(text string) (cty.Value, bool) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return cty.NilVal, false
	}
	ty, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.NilVal, false
	}
	v, err := ctyjson.Unmarshal([]byte(text), ty)
	if err != nil {
		return cty.NilVal, false
	}
	again, err := ctyjson.Marshal(v, ty)
	if err != nil {
		return cty.NilVal, false
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil || compact.String() != text || !sameText(again, text) {
		return cty.NilVal, false
	}
	return v, true
}

// sameText compares with the characters that jsonencode escapes.
func sameText(encoded []byte, text string) bool {
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, encoded)
	return escaped.String() == text || string(encoded) == text && !strings.ContainsAny(text, "<>&")
}

// raw are the tokens of an expression as it is written.
func raw(text string) hclwrite.Tokens {
	tokens, _ := hclsyntax.LexExpression([]byte(text), "", hcl.InitialPos)
	var out hclwrite.Tokens
	for _, t := range tokens {
		if t.Type != hclsyntax.TokenEOF && t.Type != hclsyntax.TokenNewline {
			out = append(out, &hclwrite.Token{Type: t.Type, Bytes: bytes.TrimSuffix(t.Bytes, []byte("\n")), SpacesBefore: 1})
		}
	}
	return out
}
