package contract

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// OpenComputedBlocks is a configuration as providers that compute blocks get it for a plan:
// computed blocks that aren't written are null instead of empty. By that the provider knows that
// it may choose them.
func OpenComputedBlocks(b *schema.Block, config cty.Value) cty.Value {
	if !known(config) || !computesBlocks(b) {
		return config
	}
	values := config.AsValueMap()
	for name, nested := range b.Blocks {
		values[name] = openComputed(nested, values[name])
	}
	return cty.ObjectVal(values)
}

func openComputed(n *schema.NestedBlock, v cty.Value) cty.Value {
	switch {
	case !known(v):
		return v
	case n.Nesting == schema.Single || n.Nesting == schema.Group:
		return OpenComputedBlocks(n.Block, v)
	case n.Computed && v.LengthInt() == 0:
		return cty.NullVal(v.Type())
	case v.LengthInt() == 0:
		return v
	}
	if n.Nesting == schema.Map {
		values := elements(v)
		for key, element := range values {
			values[key] = OpenComputedBlocks(n.Block, element)
		}
		return mapLike(v, values)
	}
	values := slice(v)
	for i, element := range values {
		values[i] = OpenComputedBlocks(n.Block, element)
	}
	if n.Nesting == schema.Set {
		return setLike(v, values)
	}
	return listLike(v, values)
}

// computesBlocks reports whether a block has computed blocks in it. Few providers have any.
func computesBlocks(b *schema.Block) bool {
	for _, nested := range b.Blocks {
		if nested.Computed || computesBlocks(nested.Block) {
			return true
		}
	}
	return false
}
