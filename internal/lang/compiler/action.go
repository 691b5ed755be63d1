package compiler

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/compiler/triggers"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var (
	actionSchema = syntax.Schema([]string{"count", "for_each", "provider"}, "config")
	listSchema   = syntax.Schema([]string{"count", "for_each", "provider!", "limit", "include_resource"}, "config")
)

// configured declares an action or a list resource. These are resources in all but that
// they leave nothing behind.
func (c *compiler) configured(b *hcl.Block, mode addr.Mode, may *hcl.BodySchema) {
	content := c.content(b.Body, may)
	r := c.named(b, mode)
	r.Repeat = c.repeat(content.Attributes, nil, blockNames[mode])
	body := triggers.Config(content.Blocks, &c.diags)
	c.declareResource(&resourceBlock{Resource: r, attrs: content.Attributes, body: body, lifecycle: hcl.Attributes{}}, b)
}

// trigger reads an action_trigger block; in is the scope of the resource.
func (c *compiler) trigger(b *hcl.Block, in *scope) *program.Trigger {
	at := *in
	at.actions = true
	return triggers.Reader{
		Reader:    c.literal(),
		Condition: func(attr *hcl.Attribute) *program.Expr { return c.attribute(attr, in) },
		Action: func(e hclsyntax.Expression) *program.Ref {
			r := rewriter{c: c, in: &at}
			node, ok := r.expr(e).(*program.RefExpr)
			if r.finish(); !ok {
				return nil
			}
			return node.Ref
		},
	}.Read(b)
}
