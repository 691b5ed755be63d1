package syntax

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
)

// TraversalText is a traversal as users write it.
func TraversalText(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(step.Name)
		case hcl.TraverseAttr:
			b.WriteByte('.')
			b.WriteString(step.Name)
		case hcl.TraverseIndex:
			b.WriteByte('[')
			b.WriteString(KeyText(step.Key))
			b.WriteByte(']')
		case hcl.TraverseSplat:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// KeyText is a key as users write it, an ellipsis where it is unknown or none.
func KeyText(v cty.Value) string {
	switch {
	case v.IsNull() || !v.IsKnown():
		return "..."
	case v.Type() == cty.String:
		return addr.Quote(v.AsString())
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	}
	return "..."
}
