package compiler

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// body compiles all expressions of a body whose schema a provider has.
func (c *compiler) body(b hcl.Body, header hcl.Range, in *scope) *program.Body {
	r := rewriter{c: c, in: in}
	r.body(b)
	r.finish()
	return &program.Body{Body: b, Refs: r.refs, Range: header}
}

func (r *rewriter) body(b hcl.Body) {
	switch b := b.(type) {
	case *hclsyntax.Body:
		r.native(b)
	case *syntax.JSONBody:
		r.members(b.Members)
	case *syntax.UnionBody:
		for _, part := range b.Parts {
			r.body(part)
		}
	}
}

// native walks a body in source order.
func (r *rewriter) native(b *hclsyntax.Body) {
	if len(b.Blocks) == 0 && len(b.Attributes) == 1 {
		for _, attr := range b.Attributes {
			attr.Expr = r.expr(attr.Expr)
		}
		return
	}
	attrs := make([]*hclsyntax.Attribute, 0, len(b.Attributes))
	for _, attr := range b.Attributes {
		attrs = append(attrs, attr)
	}
	slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	blocks := b.Blocks
	for _, attr := range attrs {
		for len(blocks) > 0 && blocks[0].TypeRange.Start.Byte < attr.NameRange.Start.Byte {
			r.block(blocks[0])
			blocks = blocks[1:]
		}
		attr.Expr = r.expr(attr.Expr)
	}
	for _, block := range blocks {
		r.block(block)
	}
}

func (r *rewriter) block(b *hclsyntax.Block) {
	if b.Type != "dynamic" || len(b.Labels) != 1 {
		r.native(b.Body)
		return
	}
	iterator := b.Labels[0]
	attrs := b.Body.Attributes
	if attr := attrs["iterator"]; attr != nil {
		if name := hcl.ExprAsKeyword(attr.Expr); name != "" {
			iterator = name
		}
	}
	if attr := attrs["for_each"]; attr != nil {
		attr.Expr = r.expr(attr.Expr)
	}
	r.content(iterator, func() {
		if attr := attrs["labels"]; attr != nil {
			attr.Expr = r.expr(attr.Expr)
		}
		for _, content := range b.Body.Blocks {
			r.native(content.Body)
		}
	})
}

// content runs f for the content of a dynamic block.
func (r *rewriter) content(iterator string, f func()) {
	outer := r.generated
	r.generated = true
	r.within([]string{iterator}, f)
	r.generated = outer
}

// members walks the properties of a JSON object, which may be arguments or
// blocks.
func (r *rewriter) members(members []syntax.JSONMember) {
	for _, m := range members {
		switch m.Name {
		case "//":
		case "dynamic":
			r.jsonDynamic(m.Value)
		default:
			r.value(m.Value)
		}
	}
}

func (r *rewriter) value(v *syntax.JSONValue) {
	switch v.Kind {
	case syntax.JSONString:
		r.expr(v.Expr) // works in place
	case syntax.JSONArray:
		for _, e := range v.Elems {
			r.value(e)
		}
	case syntax.JSONObject:
		for _, m := range v.Members {
			if m.Name != "//" {
				r.expr(m.Key)
			}
		}
		r.members(v.Members)
	}
}

// objects lists the objects that a value is or has.
func objects(v *syntax.JSONValue) []*syntax.JSONValue {
	if v.Kind != syntax.JSONArray {
		return []*syntax.JSONValue{v}
	}
	return v.Elems
}

func (r *rewriter) jsonDynamic(v *syntax.JSONValue) {
	for _, types := range objects(v) {
		if types.Kind != syntax.JSONObject {
			r.value(types)
			continue
		}
		for _, typ := range types.Members {
			for _, block := range objects(typ.Value) {
				r.jsonGenerator(typ.Name, block)
			}
		}
	}
}

func (r *rewriter) jsonGenerator(iterator string, block *syntax.JSONValue) {
	for _, m := range block.Members {
		if s, ok := m.Value.Expr.(*syntax.StringExpr); ok && m.Name == "iterator" {
			iterator = s.Text
		}
	}
	for _, m := range block.Members {
		switch m.Name {
		case "iterator", "//":
		case "for_each":
			r.value(m.Value)
		default:
			r.content(iterator, func() { r.value(m.Value) })
		}
	}
	if block.Kind != syntax.JSONObject {
		r.value(block)
	}
}
