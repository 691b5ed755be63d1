package compiler

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
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
	body := c.actionConfig(content.Blocks)
	c.declareResource(&resourceBlock{Resource: r, attrs: content.Attributes, body: body, lifecycle: hcl.Attributes{}}, b)
}

// actionConfig is the body of the one config block that an action may have among its blocks, an
// empty one without.
func (c *compiler) actionConfig(blocks hcl.Blocks) hcl.Body {
	if len(blocks) == 0 {
		return hcl.EmptyBody()
	}
	if len(blocks) > 1 {
		c.diags.Add(diag.Duplicate.As("Duplicate config block").Error(blocks[1].DefRange, "There is one config block in a block at most, and this one's is at %s.", blocks[0].DefRange))
	}
	return blocks[0].Body
}
