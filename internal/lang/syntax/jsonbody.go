package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// A JSONBody is a JSON object, or an array of objects that count as one, read
// as a body. A property is an argument or one or more blocks as the schema
// that it is asked with says. Properties named "//" are comments.
type JSONBody struct {
	Members []JSONMember
	open    hcl.Range // where something is missing
	rng     hcl.Range
	wrong   []*JSONValue // values that aren't objects
}

var _ hcl.Body = (*JSONBody)(nil)

func newJSONBody(v *JSONValue) *JSONBody {
	b := &JSONBody{open: v.Open, rng: v.Range}
	switch v.Kind {
	case JSONObject:
		b.Members = v.Members
	case JSONArray:
		for _, e := range v.Elems {
			if e.Kind == JSONObject {
				b.Members = append(b.Members, e.Members...)
			} else {
				b.wrong = append(b.wrong, e)
			}
		}
	default:
		b.open = v.Range
		b.wrong = append(b.wrong, v)
	}
	return b
}

// Without is the body without the properties that drop selects.
func (b *JSONBody) Without(drop func(name string) bool) *JSONBody {
	rest := *b
	rest.Members = nil
	for _, m := range b.Members {
		if !drop(m.Name) {
			rest.Members = append(rest.Members, m)
		}
	}
	return &rest
}

// Content implements hcl.Body.
func (b *JSONBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, rest, diags := b.PartialContent(schema)
	var names []string
	for _, a := range schema.Attributes {
		names = append(names, a.Name)
	}
	for _, s := range schema.Blocks {
		names = append(names, s.Type)
	}
	for _, m := range rest.(*JSONBody).Members {
		if m.Name == "//" {
			continue
		}
		detail := fmt.Sprintf("No argument or block type is named %q.", m.Name) + Suggest(m.Name, names)
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Extraneous JSON object property",
			Detail:   detail,
			Subject:  m.NameRange.Ptr(),
		})
	}
	return content, diags
}

// PartialContent implements hcl.Body.
func (b *JSONBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content := &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}
	var diags hcl.Diagnostics
	for _, v := range b.wrong {
		diags = append(diags, wrongKind(v, "A JSON object is required here, setting the arguments and child blocks."))
	}
	attributes := make(map[string]bool, len(schema.Attributes))
	for _, a := range schema.Attributes {
		attributes[a.Name] = a.Required
	}
	blocks := make(map[string]hcl.BlockHeaderSchema, len(schema.Blocks))
	for _, s := range schema.Blocks {
		blocks[s.Type] = s
	}
	for _, m := range b.Members {
		if _, ok := attributes[m.Name]; ok {
			if first := content.Attributes[m.Name]; first != nil {
				diags = append(diags, duplicateArgument(m, first.Range))
				continue
			}
			content.Attributes[m.Name] = m.attribute()
		} else if s, ok := blocks[m.Name]; ok {
			u := unpacker{typ: m.Name, typeRange: m.NameRange, names: s.LabelNames}
			u.unpack(m.Value, nil, nil)
			content.Blocks = append(content.Blocks, u.blocks...)
			diags = append(diags, u.diags...)
		}
	}
	for _, a := range schema.Attributes {
		if a.Required && content.Attributes[a.Name] == nil {
			diags = append(diags, missingArgument(a.Name, b.MissingItemRange()))
		}
	}
	rest := b.Without(func(name string) bool {
		_, attribute := attributes[name]
		_, block := blocks[name]
		return attribute || block
	})
	rest.wrong = nil
	return content, rest, diags
}

// JustAttributes implements hcl.Body.
func (b *JSONBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	for _, v := range b.wrong {
		diags = append(diags, wrongKind(v, "A JSON object is required here, defining the arguments."))
	}
	attrs := hcl.Attributes{}
	for _, m := range b.Members {
		if m.Name == "//" {
			continue
		}
		if first := attrs[m.Name]; first != nil {
			diags = append(diags, duplicateArgument(m, first.Range))
			continue
		}
		attrs[m.Name] = m.attribute()
	}
	return attrs, diags
}

// MissingItemRange implements hcl.Body.
func (b *JSONBody) MissingItemRange() hcl.Range { return b.open }

func (m JSONMember) attribute() *hcl.Attribute {
	return &hcl.Attribute{
		Name:      m.Name,
		Expr:      m.Value.Expr,
		Range:     hcl.RangeBetween(m.NameRange, m.Value.Range),
		NameRange: m.NameRange,
	}
}

// An unpacker makes blocks of a property: each label is a level of objects.
type unpacker struct {
	typ       string
	typeRange hcl.Range
	names     []string
	blocks    hcl.Blocks
	diags     hcl.Diagnostics
}

func (u *unpacker) unpack(v *JSONValue, labels []string, ranges []hcl.Range) {
	if len(labels) < len(u.names) {
		u.label(v, labels, ranges)
		return
	}
	switch v.Kind {
	case JSONNull:
	case JSONArray:
		for _, e := range v.Elems {
			if e.Kind == JSONNull {
				continue
			}
			u.block(e, labels, ranges)
		}
	default:
		u.block(v, labels, ranges)
	}
}

func (u *unpacker) label(v *JSONValue, labels []string, ranges []hcl.Range) {
	next := u.names[len(labels)]
	objects := []*JSONValue{v}
	if v.Kind == JSONArray {
		objects = v.Elems
	}
	given, before := false, len(u.diags)
	for _, object := range objects {
		if object == v && v.Kind == JSONNull {
			break
		}
		if object.Kind != JSONObject {
			u.diags = append(u.diags, wrongKind(object, fmt.Sprintf("A JSON object is required, whose keys represent the %s block's %s.", u.typ, next)))
			continue
		}
		for _, m := range object.Members {
			if m.Name == "//" && len(objects) > 0 {
				continue
			}
			given = true
			u.unpack(m.Value, append(labels[:len(labels):len(labels)], m.Name), append(ranges[:len(ranges):len(ranges)], m.NameRange))
		}
	}
	if !given && len(u.diags) == before {
		u.diags = append(u.diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Missing block label",
			Detail:   fmt.Sprintf("At least one object property is required, whose name represents the %s block's %s.", u.typ, next),
			Subject:  v.Range.Ptr(),
		})
	}
}

func (u *unpacker) block(v *JSONValue, labels []string, ranges []hcl.Range) {
	def := v.Range
	if v.Kind == JSONObject {
		def = v.Open
	}
	if len(ranges) > 0 {
		def = ranges[len(ranges)-1]
	}
	body := newJSONBody(v)
	if v.Kind == JSONArray {
		body = &JSONBody{open: v.Range, rng: v.Range, wrong: []*JSONValue{v}}
	}
	u.blocks = append(u.blocks, &hcl.Block{
		Type: u.typ, Labels: labels, Body: body,
		DefRange: def, TypeRange: u.typeRange, LabelRanges: ranges,
	})
}

func wrongKind(v *JSONValue, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Incorrect JSON value type",
		Detail:   fmt.Sprintf("%s This is %s.", detail, v.Kind),
		Subject:  v.Range.Ptr(),
	}
}

func duplicateArgument(m JSONMember, first hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Duplicate argument",
		Detail:   fmt.Sprintf("The argument %q was already set at %s.", m.Name, first),
		Subject:  m.NameRange.Ptr(),
	}
}

func missingArgument(name string, at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Missing required argument",
		Detail:   fmt.Sprintf("The argument %q is required, but no definition was found.", name),
		Subject:  at.Ptr(),
	}
}
