package schema

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
)

// MarkSensitive puts the sensitive mark on what the schema says is sensitive
// in a value of the block; a set with something sensitive inside is sensitive
// as a whole. It costs nothing when the schema has none.
func (b *Block) MarkSensitive(v cty.Value) cty.Value {
	paths := b.SensitivePaths(v)
	if len(paths) == 0 {
		return v
	}
	marks := cty.NewValueMarks(value.Sensitive)
	marked := make([]cty.PathValueMarks, len(paths))
	for i, p := range paths {
		marked[i] = cty.PathValueMarks{Path: p, Marks: marks}
	}
	return value.MarkPaths(v, marked)
}

// HasDeprecated reports whether the block or anything in it is deprecated.
func (b *Block) HasDeprecated() bool {
	if b.Deprecated {
		return true
	}
	for _, n := range b.Blocks {
		if n.Block.HasDeprecated() {
			return true
		}
	}
	return anyDeprecated(b.Attributes)
}

func anyDeprecated(attributes map[string]*Attribute) bool {
	for _, a := range attributes {
		if a.Deprecated || a.Nested != nil && anyDeprecated(a.Nested.Attributes) {
			return true
		}
	}
	return false
}
