package literal

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func sorted(ty cty.Type) []string { return slices.Sorted(maps.Keys(ty.AttributeTypes())) }

// attributeName quotes a name that isn't an identifier.
func attributeName(name string) string {
	if hclsyntax.ValidIdentifier(name) {
		return name
	}
	return strconv.Quote(name)
}
