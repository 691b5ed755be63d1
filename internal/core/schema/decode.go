package schema

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// Decode evaluates a body as an object of the block's implied type. Dynamic
// blocks are expanded on the way; where their keys aren't known, all blocks
// of that type together are unknown. Lists and sets of objects in schemas of
// the old SDK may be written as blocks.
//
// Beside errors comes what could be decoded, of the implied type as far as
// the mistakes allow. The context is nil where no reference is allowed. A nil
// body is one without content, required arguments included.
func (b *Block) Decode(body hcl.Body, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if body == nil {
		return b.EmptyValue(), nil
	}
	if v, diags, ok := b.decodeFlat(body, ctx); ok {
		return v, diags
	}
	return b.decodeExpanded(dynblock.Expand(body, ctx), ctx)
}

func (b *Block) decodeExpanded(body hcl.Body, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	d := b.decoding()
	body = b.withBlocksAsAttributes(body)
	v, diags := hcldec.Decode(body, d.spec, ctx)
	if diags.HasErrors() {
		v, diags = hcldec.Decode(&orderedBody{body}, d.spec, ctx)
	}
	if v == cty.NilVal {
		v = cty.UnknownVal(b.ImpliedType())
	}
	if d.optional {
		v = b.requireTypes(v)
	}
	return v, diags
}

// Content is what a body has of the block's arguments and blocks, as written:
// without what dynamic blocks make, and whatever is wrong with it left out.
// Blocks that stand for an attribute are one argument, whose expression has a
// method Expressions for what is written in them.
func (b *Block) Content(body hcl.Body) *hcl.BodyContent {
	content, _, _ := b.withBlocksAsAttributes(body).PartialContent(hcldec.ImpliedSchema(b.decoding().spec))
	if content == nil {
		content = &hcl.BodyContent{}
	}
	return content
}

// A decoder is what decoding needs of a block, made at its first use.
type decoder struct {
	spec hcldec.ObjectSpec
	// types are those that the attributes are converted to.
	types map[string]cty.Type
	// required are the arguments and blocks that a body has to have.
	required []string
	// absent is what comes of arguments and blocks that aren't written.
	absent map[string]cty.Value
	// elements has the attributes that may be written as blocks.
	elements map[string]*Block
	// optional: there are nested attributes, which are decoded with types
	// that have optional attributes.
	optional bool
}

func (b *Block) decoding() *decoder {
	b.decodeOnce.Do(func() {
		d := &b.decoder
		n := len(b.Attributes) + len(b.Blocks)
		d.spec, d.types, d.absent = make(hcldec.ObjectSpec, n), make(map[string]cty.Type, len(b.Attributes)), make(map[string]cty.Value, n)
		for name, a := range b.Attributes {
			spec := &hcldec.AttrSpec{Name: name, Type: a.Type, Required: a.Required}
			if a.Nested != nil {
				d.optional = true
				spec.Type = a.Nested.DecodeType()
			}
			d.spec[name], d.types[name] = spec, spec.Type
			d.absent[name] = cty.NullVal(a.ImpliedType())
			if a.Required {
				d.required = append(d.required, name)
			}
		}
		for name, n := range b.Blocks {
			if inner := n.decoding(); inner.optional {
				d.optional = true
			}
			d.spec[name] = n.spec(name)
			d.absent[name] = n.EmptyValue()
			if n.Min > 0 {
				d.required = append(d.required, name)
			}
		}
		d.elements = b.attributesAsBlocks()
	})
	return &b.decoder
}

func (n *NestedBlock) spec(name string) hcldec.Spec {
	nested := n.decoding().spec
	dynamic := n.Block.ImpliedType().HasDynamicTypes()
	switch {
	case n.Nesting == List && dynamic:
		return &hcldec.BlockTupleSpec{TypeName: name, Nested: nested, MinItems: n.Min, MaxItems: n.Max}
	case n.Nesting == List:
		return &hcldec.BlockListSpec{TypeName: name, Nested: nested, MinItems: n.Min, MaxItems: n.Max}
	case n.Nesting == Set:
		return &hcldec.BlockSetSpec{TypeName: name, Nested: nested, MinItems: n.Min, MaxItems: n.Max}
	case n.Nesting == Map && dynamic:
		return &hcldec.BlockObjectSpec{TypeName: name, LabelNames: mapLabels, Nested: nested}
	case n.Nesting == Map:
		return &hcldec.BlockMapSpec{TypeName: name, LabelNames: mapLabels, Nested: nested}
	}
	single := &hcldec.BlockSpec{TypeName: name, Nested: nested, Required: n.Min > 0}
	if n.Nesting == Group {
		return &hcldec.DefaultSpec{Primary: single, Default: &hcldec.LiteralSpec{Value: n.EmptyValue()}}
	}
	return single
}

// mapLabels names the label of blocks that are collected by key.
var mapLabels = []string{"key"}

// DecodeType is the type that configured values are converted to: as
// ImpliedType, but attributes that needn't be set may be left out.
func (o *Object) DecodeType() cty.Type {
	types := make(map[string]cty.Type, len(o.Attributes))
	var optional []string
	for name, a := range o.Attributes {
		types[name] = a.Type
		if a.Nested != nil {
			types[name] = a.Nested.DecodeType()
		}
		if !a.Required {
			optional = append(optional, name)
		}
	}
	return nest(cty.ObjectWithOptionalAttrs(types, optional), o.Nesting)
}

// requireTypes replaces empty and absent blocks, which hcldec gives the type
// with optional attributes that it decodes by.
func (b *Block) requireTypes(v cty.Value) cty.Value {
	v, marks := v.Unmark()
	switch {
	case !v.IsKnown():
		return cty.UnknownVal(b.ImpliedType()).WithMarks(marks)
	case v.IsNull():
		return cty.NullVal(b.ImpliedType()).WithMarks(marks)
	case !v.Type().IsObjectType():
		return v.WithMarks(marks)
	}
	values := v.AsValueMap()
	for name, n := range b.Blocks {
		if n.decoding().optional {
			values[name] = n.requireTypes(values[name])
		}
	}
	return cty.ObjectVal(values).WithMarks(marks)
}

func (n *NestedBlock) requireTypes(v cty.Value) cty.Value {
	if n.Nesting == Single || n.Nesting == Group {
		return n.Block.requireTypes(v)
	}
	v, marks := v.Unmark()
	switch {
	case !v.IsKnown():
		return cty.UnknownVal(n.ImpliedType()).WithMarks(marks)
	case v.IsNull():
		return cty.NullVal(n.ImpliedType()).WithMarks(marks)
	case v.LengthInt() == 0:
		return n.EmptyValue().WithMarks(marks)
	}
	switch ty := v.Type(); {
	case ty.IsMapType(), ty.IsObjectType():
		values := v.AsValueMap()
		for key, element := range values {
			values[key] = n.Block.requireTypes(element)
		}
		if ty.IsObjectType() {
			return cty.ObjectVal(values).WithMarks(marks)
		}
		return cty.MapVal(values).WithMarks(marks)
	case ty.IsListType(), ty.IsSetType(), ty.IsTupleType():
		values := v.AsValueSlice()
		for i, element := range values {
			values[i] = n.Block.requireTypes(element)
		}
		switch {
		case ty.IsTupleType():
			return cty.TupleVal(values).WithMarks(marks)
		case ty.IsSetType():
			return cty.SetVal(values).WithMarks(marks)
		}
		return cty.ListVal(values).WithMarks(marks)
	}
	return v.WithMarks(marks)
}
