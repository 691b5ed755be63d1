package schema

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// FindRange is where the argument at a path is written in a body that isn't expanded yet: for
// problems that a provider reports. Anything that can't be found exactly is answered by the
// innermost part that can, at last by the place where missing arguments belong.
func FindRange(body hcl.Body, path cty.Path) hcl.Range {
	expr, r := find(body, path)
	if expr != nil {
		return expr.Range()
	}
	return r
}

// FindExpr is the expression that gives the argument at a path its value, as
// far as it is written out, or nil without one.
func FindExpr(body hcl.Body, path cty.Path) hcl.Expression {
	expr, _ := find(body, path)
	return expr
}

// find returns the expression at a path, or else the range that comes next to
// it.
func find(body hcl.Body, path cty.Path) (hcl.Expression, hcl.Range) {
	for len(path) > 0 {
		step, ok := path[0].(cty.GetAttrStep)
		if !ok {
			break
		}
		path = path[1:]
		if attr := attributeNamed(body, step.Name); attr != nil {
			return within(attr.Expr, path), hcl.Range{}
		}
		var key cty.Value
		if len(path) > 0 {
			if index, ok := path[0].(cty.IndexStep); ok {
				key, path = index.Key, path[1:]
			}
		}
		inner, found := blockNamed(body, step.Name, key)
		if !found {
			break
		}
		if len(path) == 0 {
			return nil, inner.DefRange
		}
		body = inner.Body
	}
	return nil, body.MissingItemRange()
}

func attributeNamed(body hcl.Body, name string) *hcl.Attribute {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	return content.Attributes[name]
}

// blockNamed picks the block that the key selects. Blocks that a dynamic
// block makes are all found in its content.
func blockNamed(body hcl.Body, name string, key cty.Value) (*hcl.Block, bool) {
	header := hcl.BlockHeaderSchema{Type: name}
	text, byName := stringKey(key)
	if byName {
		header.LabelNames = mapLabels
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		header, {Type: "dynamic", LabelNames: []string{"type"}},
	}})
	n, _ := intKey(key)
	var last *hcl.Block
	for _, block := range content.Blocks {
		switch {
		case block.Type == "dynamic" && name != "dynamic":
			if len(block.Labels) != 1 || block.Labels[0] != name {
				continue
			}
			if inner := contentOf(block); inner != nil {
				if !byName {
					return inner, true
				}
				last = inner
			}
		case byName:
			if len(block.Labels) == 1 && block.Labels[0] == text {
				return block, true
			}
		case n == 0:
			return block, true
		default:
			n--
		}
	}
	return last, last != nil
}

func contentOf(dynamic *hcl.Block) *hcl.Block {
	content, _, _ := dynamic.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "content"}}})
	if len(content.Blocks) == 0 {
		return nil
	}
	return content.Blocks[0]
}

// within descends into an expression as far as it is written out.
func within(expr hcl.Expression, path cty.Path) hcl.Expression {
	for _, step := range path {
		var inner hcl.Expression
		switch s := step.(type) {
		case cty.GetAttrStep:
			inner = member(expr, s.Name)
		case cty.IndexStep:
			if n, ok := intKey(s.Key); ok {
				if items, diags := hcl.ExprList(expr); !diags.HasErrors() && n < len(items) {
					inner = items[n]
				}
			} else if text, ok := stringKey(s.Key); ok {
				inner = member(expr, text)
			}
		}
		if inner == nil {
			break
		}
		expr = inner
	}
	return expr
}

func member(expr hcl.Expression, name string) hcl.Expression {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() {
		return nil
	}
	for _, pair := range pairs {
		key, diags := pair.Key.Value(nil)
		if text, ok := stringKey(key); !diags.HasErrors() && ok && text == name {
			return pair.Value
		}
	}
	return nil
}

func stringKey(key cty.Value) (string, bool) {
	if key == cty.NilVal {
		return "", false
	}
	key, _ = key.Unmark()
	if key.IsNull() || !key.IsKnown() || key.Type() != cty.String {
		return "", false
	}
	return key.AsString(), true
}

func intKey(key cty.Value) (int, bool) {
	if key == cty.NilVal {
		return 0, false
	}
	key, _ = key.Unmark()
	if key.IsNull() || !key.IsKnown() || key.Type() != cty.Number {
		return 0, false
	}
	n, accuracy := key.AsBigFloat().Int64()
	return int(n), accuracy == 0 && n >= 0
}

// Configured reports whether a body has an argument of that name or blocks
// of that type.
func Configured(body hcl.Body, name string) bool {
	if attributeNamed(body, name) != nil {
		return true
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: name}}})
	return len(content.Blocks) > 0 || len(DynamicRanges(body, name)) > 0
}

// DynamicRanges is where it is written how often the blocks of a type are
// repeated: the for_each arguments of dynamic blocks for it.
func DynamicRanges(body hcl.Body, name string) []hcl.Range {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}})
	var list []hcl.Range
	for _, block := range content.Blocks {
		if len(block.Labels) == 1 && block.Labels[0] == name {
			if attr := attributeNamed(block.Body, "for_each"); attr != nil {
				list = append(list, attr.Expr.Range())
			}
		}
	}
	return list
}

// PartOf is the part of an expression that gives the part of its value at a
// path, as far as that is written out.
func PartOf(expr hcl.Expression, path cty.Path) hcl.Expression { return within(expr, path) }
