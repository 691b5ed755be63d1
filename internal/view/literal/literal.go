// Package literal writes values and types in the syntax of expressions, as the
// console and the list of outputs show them.
//
// It owns that form, which hides what is sensitive. It refuses to compare
// values and doesn't know where they come from.
package literal

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/value"
)

const step = 2 // spaces for each level

// Value writes a value. indent is how far the lines after the first one are
// set in. Values of capsule types appear by the names of their types.
func Value(v cty.Value, indent int) string {
	p := printer{reveal: false}
	p.value(v, indent)
	return p.b.String()
}

// Revealed is Value with what is sensitive.
func Revealed(v cty.Value, indent int) string {
	p := printer{reveal: true}
	p.value(v, indent)
	return p.b.String()
}

type printer struct {
	b      strings.Builder
	reveal bool
}

func (p *printer) value(v cty.Value, indent int) {
	bare, _ := v.Unmark()
	ty := bare.Type()
	switch {
	case !p.reveal && v.HasMark(value.Sensitive):
		p.b.WriteString("(sensitive value)")
	case !p.reveal && v.HasMark(value.Ephemeral):
		p.b.WriteString("(ephemeral value)")
	case !bare.IsKnown():
		p.b.WriteString("(known after apply)")
	case bare.IsNull():
		p.b.WriteString(null(ty))
	case ty == cty.String:
		p.text(bare.AsString(), indent)
	case ty == cty.Number:
		p.b.WriteString(bare.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		p.b.WriteString(strconv.FormatBool(bare.True()))
	case ty.IsObjectType():
		p.mapping(bare, indent)
	case ty.IsTupleType():
		p.sequence(bare, indent)
	case ty.IsMapType():
		p.wrap("tomap(", func() { p.mapping(bare, indent) })
	case ty.IsListType():
		p.wrap("tolist(", func() { p.sequence(bare, indent) })
	case ty.IsSetType():
		p.wrap("toset(", func() { p.sequence(bare, indent) })
	default:
		p.b.WriteString(ty.FriendlyName())
	}
}

func (p *printer) wrap(start string, inner func()) {
	p.b.WriteString(start)
	inner()
	p.b.WriteByte(')')
}

func (p *printer) newline(indent int) {
	p.b.WriteByte('\n')
	p.b.WriteString(strings.Repeat(" ", indent))
}

func (p *printer) mapping(v cty.Value, indent int) {
	p.b.WriteByte('{')
	for key, elem := range v.Elements() {
		p.newline(indent + step)
		p.b.WriteString(strconv.Quote(key.AsString()))
		p.b.WriteString(" = ")
		p.value(elem, indent+step)
	}
	if v.LengthInt() > 0 {
		p.newline(indent)
	}
	p.b.WriteByte('}')
}

func (p *printer) sequence(v cty.Value, indent int) {
	p.b.WriteByte('[')
	for _, elem := range v.Elements() {
		p.newline(indent + step)
		p.value(elem, indent+step)
		p.b.WriteByte(',')
	}
	if v.LengthInt() > 0 {
		p.newline(indent)
	}
	p.b.WriteByte(']')
}

// text writes several lines as a heredoc, whose end is a word that no line
// consists of.
func (p *printer) text(s string, indent int) {
	if !strings.Contains(s, "\n") {
		p.b.WriteString(strconv.Quote(s))
		return
	}
	lines := strings.Split(s, "\n")
	end := "EOT"
	for taken := true; taken; {
		taken = false
		for _, line := range lines {
			if strings.TrimSpace(line) == end {
				end += "_"
				taken = true
			}
		}
	}
	p.b.WriteString("<<")
	if indent > 0 {
		p.b.WriteByte('-')
	}
	p.b.WriteString(end)
	for _, line := range lines {
		p.newline(indent)
		p.b.WriteString(line)
	}
	p.newline(indent)
	p.b.WriteString(end)
}

func null(ty cty.Type) string {
	switch {
	case ty == cty.DynamicPseudoType:
		return "null"
	case ty.IsPrimitiveType():
		return "to" + ty.FriendlyName() + "(null)"
	case ty.IsListType():
		return "tolist(null) /* of " + ty.ElementType().FriendlyName() + " */"
	case ty.IsSetType():
		return "toset(null) /* of " + ty.ElementType().FriendlyName() + " */"
	case ty.IsMapType():
		return "tomap(null) /* of " + ty.ElementType().FriendlyName() + " */"
	}
	return "null /* " + ty.FriendlyName() + " */"
}

const typeStep = 4

// Type writes a type as the console's `type` does. indent is how far the lines
// after the first one are set in.
func Type(ty cty.Type, indent int) string {
	pad := strings.Repeat(" ", indent)
	inner := pad + strings.Repeat(" ", typeStep)
	var b strings.Builder
	switch {
	case ty == cty.DynamicPseudoType:
		return "dynamic"
	case ty.IsPrimitiveType():
		return ty.FriendlyName()
	case ty.IsListType():
		return "list(" + Type(ty.ElementType(), indent) + ")"
	case ty.IsSetType():
		return "set(" + Type(ty.ElementType(), indent) + ")"
	case ty.IsMapType():
		return "map(" + Type(ty.ElementType(), indent) + ")"
	case ty.IsTupleType():
		if ty.Length() == 0 {
			return "tuple([])"
		}
		b.WriteString("tuple([\n")
		for _, elem := range ty.TupleElementTypes() {
			b.WriteString(inner + Type(elem, indent+typeStep) + ",\n")
		}
		b.WriteString(pad + "])")
	case ty.IsObjectType():
		if len(ty.AttributeTypes()) == 0 {
			return "object({})"
		}
		b.WriteString("object({\n")
		for _, name := range sorted(ty) {
			b.WriteString(inner + attributeName(name) + ": " + Type(ty.AttributeType(name), indent+typeStep) + ",\n")
		}
		b.WriteString(pad + "})")
	default:
		return ty.FriendlyName()
	}
	return b.String()
}
