package syntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/suggest"
)

// A UnionBody is several bodies read as one. No two of them have an argument
// in common; Merge takes care of that.
type UnionBody struct {
	Parts []hcl.Body
}

var _ hcl.Body = (*UnionBody)(nil)

// Merge lays one body over another: its arguments replace those of the same
// name, its blocks all blocks of the same type, but those of the types in keep
// are added. A dynamic block counts as a block of the type that it makes.
func Merge(base, over hcl.Body, keep ...string) hcl.Body {
	names := map[string]bool{}
	collectNames(over, names)
	for _, name := range keep {
		delete(names, name)
	}
	union := &UnionBody{}
	for _, b := range []hcl.Body{without(base, names), over} {
		if u, ok := b.(*UnionBody); ok {
			union.Parts = append(union.Parts, u.Parts...)
		} else {
			union.Parts = append(union.Parts, b)
		}
	}
	return union
}

// collectNames adds the names of the arguments and block types of a body.
func collectNames(b hcl.Body, names map[string]bool) {
	switch b := b.(type) {
	case *hclsyntax.Body:
		for name := range b.Attributes {
			names[name] = true
		}
		for _, block := range b.Blocks {
			names[generatedType(block)] = true
		}
	case *JSONBody:
		for _, m := range b.Members {
			if m.Name == "dynamic" && m.Value.Kind == JSONObject {
				for _, d := range m.Value.Members {
					names[d.Name] = true
				}
			} else if m.Name != "//" {
				names[m.Name] = true
			}
		}
	case *UnionBody:
		for _, part := range b.Parts {
			collectNames(part, names)
		}
	}
}

func generatedType(b *hclsyntax.Block) string {
	if b.Type == "dynamic" && len(b.Labels) == 1 {
		return b.Labels[0]
	}
	return b.Type
}

// without drops arguments and blocks by name.
func without(b hcl.Body, names map[string]bool) hcl.Body {
	switch b := b.(type) {
	case *hclsyntax.Body:
		rest := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: b.SrcRange, EndRange: b.EndRange}
		for name, attr := range b.Attributes {
			if !names[name] {
				rest.Attributes[name] = attr
			}
		}
		for _, block := range b.Blocks {
			if !names[generatedType(block)] {
				rest.Blocks = append(rest.Blocks, block)
			}
		}
		return rest
	case *JSONBody:
		rest := b.Without(func(name string) bool { return names[name] })
		for i, m := range rest.Members {
			if m.Name == "dynamic" && m.Value.Kind == JSONObject {
				v := *m.Value
				v.Members = newJSONBody(m.Value).Without(func(name string) bool { return names[name] }).Members
				rest.Members[i].Value = &v
			}
		}
		return rest
	case *UnionBody:
		rest := &UnionBody{}
		for _, part := range b.Parts {
			rest.Parts = append(rest.Parts, without(part, names))
		}
		return rest
	}
	return b
}

// Split takes what a schema names out of a body. Anything that is left is a fresh body without
// hidden parts, so it can be walked.
func Split(b hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	native, ok := b.(*hclsyntax.Body)
	if !ok {
		return b.PartialContent(schema)
	}
	if !touches(native, schema) {
		return &hcl.BodyContent{MissingItemRange: b.MissingItemRange()}, b, nil
	}
	content, _, diags := native.PartialContent(schema)
	names := make(map[string]bool, len(schema.Attributes))
	for _, a := range schema.Attributes {
		names[a.Name] = true
	}
	types := make(map[string]bool, len(schema.Blocks))
	for _, s := range schema.Blocks {
		types[s.Type] = true
	}
	rest := &hclsyntax.Body{Attributes: make(hclsyntax.Attributes, len(native.Attributes)), SrcRange: native.SrcRange, EndRange: native.EndRange}
	for name, attr := range native.Attributes {
		if !names[name] {
			rest.Attributes[name] = attr
		}
	}
	for _, block := range native.Blocks {
		if !types[block.Type] {
			rest.Blocks = append(rest.Blocks, block)
		}
	}
	return content, rest, diags
}

// touches reports whether a body has, or must have, anything that the schema
// names.
func touches(b *hclsyntax.Body, schema *hcl.BodySchema) bool {
	for _, a := range schema.Attributes {
		if a.Required || b.Attributes[a.Name] != nil {
			return true
		}
	}
	return slices.ContainsFunc(b.Blocks, func(block *hclsyntax.Block) bool {
		return slices.ContainsFunc(schema.Blocks, func(s hcl.BlockHeaderSchema) bool { return s.Type == block.Type })
	})
}

// optional is the schema with nothing required, for reading a part.
func optional(schema *hcl.BodySchema) *hcl.BodySchema {
	loose := &hcl.BodySchema{Blocks: schema.Blocks, Attributes: slices.Clone(schema.Attributes)}
	for i := range loose.Attributes {
		loose.Attributes[i].Required = false
	}
	return loose
}

func (b *UnionBody) join(schema *hcl.BodySchema, read func(part hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics)) (*hcl.BodyContent, hcl.Diagnostics) {
	all := &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}
	var diags hcl.Diagnostics
	loose := optional(schema)
	for _, part := range b.Parts {
		content, partDiags := read(part, loose)
		diags = append(diags, partDiags...)
		for name, attr := range content.Attributes {
			all.Attributes[name] = attr
		}
		all.Blocks = append(all.Blocks, content.Blocks...)
	}
	for _, a := range schema.Attributes {
		if a.Required && all.Attributes[a.Name] == nil {
			diags = append(diags, missingArgument(a.Name, b.MissingItemRange()))
		}
	}
	return all, diags
}

// Content implements hcl.Body.
func (b *UnionBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	return b.join(schema, hcl.Body.Content)
}

// PartialContent implements hcl.Body.
func (b *UnionBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	rest := &UnionBody{}
	content, diags := b.join(schema, func(part hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
		content, remain, diags := Split(part, schema)
		rest.Parts = append(rest.Parts, remain)
		return content, diags
	})
	return content, rest, diags
}

// JustAttributes implements hcl.Body.
func (b *UnionBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	all := hcl.Attributes{}
	var diags hcl.Diagnostics
	for _, part := range b.Parts {
		attrs, partDiags := part.JustAttributes()
		diags = append(diags, partDiags...)
		for name, attr := range attrs {
			all[name] = attr
		}
	}
	return all, diags
}

// MissingItemRange implements hcl.Body.
func (b *UnionBody) MissingItemRange() hcl.Range {
	if len(b.Parts) == 0 {
		return hcl.Range{}
	}
	return b.Parts[0].MissingItemRange()
}

// SortDiagnostics puts diagnostics in source order, because bodies give them
// in the order of a map.
func SortDiagnostics(diags hcl.Diagnostics) hcl.Diagnostics {
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int { return CompareRanges(a.Subject, b.Subject) })
	return diags
}

// CompareRanges orders ranges by file and position; nil comes first.
func CompareRanges(a, b *hcl.Range) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case a.Filename != b.Filename:
		return strings.Compare(a.Filename, b.Filename)
	}
	return a.Start.Byte - b.Start.Byte
}

// InOrder lists attributes as they stand in their source.
func InOrder(attrs hcl.Attributes) []*hcl.Attribute {
	list := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *hcl.Attribute) int { return CompareRanges(&a.NameRange, &b.NameRange) })
	return list
}

// Suggest is a sentence that proposes the name that was probably meant, with a
// space before it, or empty.
func Suggest(name string, names []string) string {
	if best := suggest.Name(name, names); best != "" {
		return fmt.Sprintf(" Did you mean %q?", best)
	}
	return ""
}
