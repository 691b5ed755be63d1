package schema

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// Providers on the old SDK declare some blocks as attributes, of the type
// list or set of object. Their users go on writing blocks.

// attributesAsBlocks finds these attributes, each with a block that is
// decoded to an element. Schemas that the old SDK can't have made have none.
func (b *Block) attributesAsBlocks() map[string]*Block {
	if !b.fromOldSDK() {
		return nil
	}
	var found map[string]*Block
	for name, a := range b.Attributes {
		if !collectsObjects(a.Type) {
			continue
		}
		element := &Block{Attributes: make(map[string]*Attribute)}
		for name, ty := range a.Type.ElementType().AttributeTypes() {
			element.Attributes[name] = &Attribute{Type: ty, Optional: true}
		}
		if found == nil {
			found = make(map[string]*Block)
		}
		found[name] = element
	}
	return found
}

func collectsObjects(ty cty.Type) bool {
	return (ty.IsListType() || ty.IsSetType()) && ty.ElementType().IsObjectType()
}

// fromOldSDK reports whether all types in the schema are such that the old
// SDK can declare.
func (b *Block) fromOldSDK() bool {
	for _, a := range b.Attributes {
		if a.Nested != nil || !oldType(a.Type) {
			return false
		}
	}
	for _, n := range b.Blocks {
		if !n.Block.fromOldSDK() {
			return false
		}
	}
	return true
}

func oldType(ty cty.Type) bool {
	switch {
	case ty.IsTupleType(), ty.IsObjectType():
		return false
	case ty.IsMapType() && ty.ElementType().IsObjectType():
		return false
	case ty.IsCollectionType() && ty.ElementType().IsCollectionType():
		return ty.ElementType().ElementType().IsPrimitiveType()
	}
	return true
}

// withBlocksAsAttributes is the expanded body with the blocks that stand for
// attributes turned into attributes.
func (b *Block) withBlocksAsAttributes(body hcl.Body) hcl.Body {
	if !b.mayHaveBlocksAsAttributes() {
		return body
	}
	return &attributeBody{body, b}
}

func (b *Block) mayHaveBlocksAsAttributes() bool {
	if len(b.decoding().elements) > 0 {
		return true
	}
	for _, n := range b.Blocks {
		if n.Block.mayHaveBlocksAsAttributes() {
			return true
		}
	}
	return false
}

type attributeBody struct {
	hcl.Body
	block *Block
}

// Unknown and BodyValueMarks hand on what dynamic blocks tell hcldec.
func (a *attributeBody) Unknown() bool { return unknownBody(a.Body) }

func (a *attributeBody) BodyValueMarks() cty.ValueMarks { return bodyMarks(a.Body) }

func unknownBody(body hcl.Body) bool {
	u, ok := body.(hcldec.UnknownBody)
	return ok && u.Unknown()
}

func bodyMarks(body hcl.Body) cty.ValueMarks {
	if m, ok := body.(hcldec.MarkedBody); ok {
		return m.BodyValueMarks()
	}
	return nil
}

func (a *attributeBody) Content(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := a.Body.Content(a.asWritten(s))
	return a.convert(content), diags
}

func (a *attributeBody) PartialContent(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := a.Body.PartialContent(a.asWritten(s))
	return a.convert(content), &attributeBody{rest, a.block}, diags
}

// asWritten asks for blocks in place of attributes that the body doesn't set as attributes.
// JSON doesn't distinguish the two, so attributes go first.
func (a *attributeBody) asWritten(s *hcl.BodySchema) *hcl.BodySchema {
	elements := a.block.decoding().elements
	probe := &hcl.BodySchema{}
	for _, attr := range s.Attributes {
		if elements[attr.Name] != nil {
			probe.Attributes = append(probe.Attributes, hcl.AttributeSchema{Name: attr.Name})
		}
	}
	if probe.Attributes == nil {
		return s
	}
	set, _, _ := a.Body.PartialContent(probe)
	out := &hcl.BodySchema{}
	for _, attr := range s.Attributes {
		if elements[attr.Name] != nil && set.Attributes[attr.Name] == nil {
			out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: attr.Name})
			continue
		}
		out.Attributes = append(out.Attributes, attr)
	}
	out.Blocks = append(out.Blocks, s.Blocks...)
	return out
}

func (a *attributeBody) convert(content *hcl.BodyContent) *hcl.BodyContent {
	out := &hcl.BodyContent{Attributes: make(hcl.Attributes), MissingItemRange: content.MissingItemRange}
	for name, attr := range content.Attributes {
		out.Attributes[name] = attr
	}
	elements := a.block.decoding().elements
	for _, block := range content.Blocks {
		if element := elements[block.Type]; element != nil {
			attr := out.Attributes[block.Type]
			if attr == nil {
				attr = &hcl.Attribute{
					Name: block.Type, Range: block.DefRange, NameRange: block.TypeRange,
					Expr: &blocksExpr{element: element},
				}
				out.Attributes[block.Type] = attr
			}
			expr := attr.Expr.(*blocksExpr)
			expr.blocks = append(expr.blocks, block)
			continue
		}
		inner := *block
		if n := a.block.Blocks[block.Type]; n != nil {
			inner.Body = n.withBlocksAsAttributes(block.Body)
		}
		out.Blocks = append(out.Blocks, &inner)
	}
	return out
}

// blocksExpr is a list of objects that is written as blocks, of which there
// is at least one.
type blocksExpr struct {
	element *Block
	blocks  hcl.Blocks
}

func (e *blocksExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	var values []cty.Value
	known := true
	for _, block := range e.blocks {
		v, moreDiags := e.element.decodeExpanded(block.Body, ctx)
		diags = append(diags, moreDiags...)
		values = append(values, v.WithMarks(bodyMarks(block.Body)))
		known = known && !unknownBody(block.Body)
	}
	ty := e.element.ImpliedType()
	switch {
	case !known:
		return cty.UnknownVal(cty.List(ty)), diags
	case !cty.CanListVal(values):
		return cty.TupleVal(values), diags
	}
	return cty.ListVal(values), diags
}

func (e *blocksExpr) Variables() []hcl.Traversal {
	var found []hcl.Traversal
	for _, block := range e.blocks {
		body := e.element.withBlocksAsAttributes(block.Body)
		found = append(found, hcldec.Variables(body, e.element.decoding().spec)...)
	}
	return found
}

func (e *blocksExpr) Range() hcl.Range      { return e.blocks[0].DefRange }
func (e *blocksExpr) StartRange() hcl.Range { return e.blocks[0].DefRange }

// Expressions are those that the objects' attributes have, in source order.
func (e *blocksExpr) Expressions() []hcl.Expression {
	var found []hcl.Expression
	for _, block := range e.blocks {
		attributes := slices.Collect(maps.Values(e.element.Content(block.Body).Attributes))
		slices.SortFunc(attributes, func(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte })
		for _, attr := range attributes {
			if inner, ok := attr.Expr.(*blocksExpr); ok {
				found = append(found, inner.Expressions()...)
			} else {
				found = append(found, attr.Expr)
			}
		}
	}
	return found
}
