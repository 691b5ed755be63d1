package view

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// covered marks a value as sensitive.
func covered(v cty.Value, sensitive bool) cty.Value {
	if !sensitive || v == cty.NilVal {
		return v
	}
	if bare, _ := v.Unmark(); bare.IsNull() {
		return v
	}
	return v.Mark(value.Sensitive)
}

// Value sets a value as an expression that would make it, as the console and outputs do.
// Secrets and what isn't known are reported instead of shown. All lines but the first are
// indented.
func Value(v cty.Value, indent int) string {
	var b strings.Builder
	writeValue(&b, v, indent)
	return b.String()
}

func writeValue(b *strings.Builder, v cty.Value, indent int) {
	if v == cty.NilVal {
		b.WriteString("null")
		return
	}
	if v.HasMark(value.Ephemeral) {
		b.WriteString("(ephemeral value)")
		return
	}
	if v.HasMark(value.Sensitive) {
		b.WriteString("(sensitive value)")
		return
	}
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case !v.IsKnown():
		b.WriteString("(known after apply)")
	case v.IsNull():
		b.WriteString(nullText(ty))
	case ty == cty.String:
		writeString(b, v.AsString(), indent)
	case ty == cty.Number:
		b.WriteString(v.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		b.WriteString(strconv.FormatBool(v.True()))
	case ty.IsObjectType() || ty.IsMapType():
		writeMapping(b, v, indent)
	case ty.IsListType():
		writeSequence(b, v, "tolist([", "])", indent)
	case ty.IsSetType():
		writeSequence(b, v, "toset([", "])", indent)
	case ty.IsTupleType():
		writeSequence(b, v, "[", "]", indent)
	case ty.IsCapsuleType():
		// Types, and other values that only functions return.
		if t, ok := v.EncapsulatedValue().(*cty.Type); ok {
			b.WriteString(typeText(*t, indent))
			return
		}
		b.WriteString("(" + ty.FriendlyName() + ")")
	default:
		b.WriteString(v.GoString())
	}
}

// nullText is null, with its type where that is known.
func nullText(ty cty.Type) string {
	switch {
	case ty == cty.DynamicPseudoType:
		return "null"
	case ty == cty.String:
		return "tostring(null)"
	case ty == cty.Number:
		return "tonumber(null)"
	case ty == cty.Bool:
		return "tobool(null)"
	case ty.IsListType():
		return "tolist(null) /* of " + ty.ElementType().FriendlyName() + " */"
	case ty.IsSetType():
		return "toset(null) /* of " + ty.ElementType().FriendlyName() + " */"
	case ty.IsMapType():
		return "tomap(null) /* of " + ty.ElementType().FriendlyName() + " */"
	}
	return "null /* " + ty.FriendlyName() + " */"
}

// writeString quotes a string, or sets one of several lines as a heredoc.
func writeString(b *strings.Builder, s string, indent int) {
	if !strings.Contains(s, "\n") {
		b.WriteString(strconv.Quote(s))
		return
	}
	lines := strings.Split(s, "\n")
	mark, dash := endMark(lines), "-"
	if indent == 0 {
		// At the margin, nothing has to be taken off again.
		dash = ""
	}
	b.WriteString("<<" + dash + mark + "\n")
	for _, line := range lines {
		b.WriteString(strings.Repeat(" ", indent) + sanitize.Text(line) + "\n")
	}
	b.WriteString(strings.Repeat(" ", indent) + mark)
}

// endMark is a word that no line consists of.
func endMark(lines []string) string {
	mark := "EOT"
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == mark {
			mark += "_"
			i = -1
		}
	}
	return mark
}

func writeMapping(b *strings.Builder, v cty.Value, indent int) {
	open, end := "{", "}"
	if v.Type().IsMapType() {
		open, end = "tomap({", "})"
	}
	b.WriteString(open)
	if v.LengthInt() == 0 {
		b.WriteString(end)
		return
	}
	b.WriteByte('\n')
	for key, element := range v.Elements() {
		b.WriteString(strings.Repeat(" ", indent+2) + strconv.Quote(key.AsString()) + " = ")
		writeValue(b, element, indent+2)
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat(" ", indent) + end)
}

func writeSequence(b *strings.Builder, v cty.Value, open, end string, indent int) {
	b.WriteString(open)
	if v.LengthInt() == 0 {
		b.WriteString(end)
		return
	}
	b.WriteByte('\n')
	for _, element := range v.Elements() {
		b.WriteString(strings.Repeat(" ", indent+2))
		writeValue(b, element, indent+2)
		b.WriteString(",\n")
	}
	b.WriteString(strings.Repeat(" ", indent) + end)
}

// typeText sets a type as a type constraint would.
func typeText(ty cty.Type, indent int) string {
	margin := strings.Repeat(" ", indent+4)
	switch {
	case ty.IsListType():
		return "list(" + typeText(ty.ElementType(), indent) + ")"
	case ty.IsSetType():
		return "set(" + typeText(ty.ElementType(), indent) + ")"
	case ty.IsMapType():
		return "map(" + typeText(ty.ElementType(), indent) + ")"
	case ty.IsTupleType():
		if ty.Length() == 0 {
			return "tuple([])"
		}
		text := "tuple([\n"
		for _, element := range ty.TupleElementTypes() {
			text += margin + typeText(element, indent+4) + ",\n"
		}
		return text + strings.Repeat(" ", indent) + "])"
	case ty.IsObjectType():
		if len(ty.AttributeTypes()) == 0 {
			return "object({})"
		}
		text := "object({\n"
		for _, name := range sortedKeys(ty.AttributeTypes()) {
			text += margin + diff.Name(name) + ": " + typeText(ty.AttributeType(name), indent+4) + ",\n"
		}
		return text + strings.Repeat(" ", indent) + "})"
	}
	return ty.FriendlyName()
}
