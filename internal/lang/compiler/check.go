package compiler

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
)

var checkSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "assert"},
}}

func (c *compiler) check(b *hcl.Block) {
	k := &program.Check{Name: b.Labels[0], Range: b.DefRange, Index: len(c.prog.Observers)}
	c.name(b, 0, "Invalid check block name")
	if !c.observer(k, fmt.Sprintf("Duplicate check %q configuration", k.Name), "A check block") {
		return
	}
	content := c.content(b.Body, checkSchema)
	var asserts hcl.Blocks
	for _, inner := range content.Blocks {
		switch {
		case inner.Type == "assert":
			asserts = append(asserts, inner)
		case k.Data != nil:
			c.diags.Add(diag.Duplicate.As("Multiple data resource blocks").Error(inner.DefRange, "This check block already has a data resource defined at %s.", k.Data.Range))
		default:
			k.Data = c.resource(inner, addr.Data, k)
		}
	}
	if len(asserts) == 0 {
		c.diags.Add(diag.BadCondition.As("Zero assert blocks").Error(b.DefRange, "Check blocks must have at least one assert block."))
	}
	c.later = append(c.later, func() {
		for _, assert := range asserts {
			if cond := c.condition(assert, &scope{within: k}); cond != nil {
				k.Asserts = append(k.Asserts, cond)
			}
		}
	})
}
