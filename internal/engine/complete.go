package engine

import (
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/lazyregexp"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/symbols"
)

// lastWord is what a name that isn't finished may consist of.
var lastWord = lazyregexp.New(`[\pL\pN_.\[\]"-]*$`)

// Complete proposes what the last word of an expression may become: a name that the module
// declares, a function, or an attribute of a value.
func (c *Console) Complete(before string) (word string, list []string) {
	word = lastWord.Get().FindString(before)
	for _, name := range c.names() {
		if strings.HasPrefix(name, word) {
			list = append(list, name)
		}
	}
	if i := strings.LastIndexByte(word, '.'); i > 0 && len(list) == 0 {
		v, diags := c.Eval(word[:i])
		v, _ = v.Unmark()
		if !diags.HasErrors() && (v.Type().IsObjectType() || v.Type().IsMapType() && v.IsKnown() && !v.IsNull()) {
			names := slices.Collect(maps.Keys(v.Type().AttributeTypes()))
			if v.Type().IsMapType() {
				names = slices.Collect(maps.Keys(v.AsValueMap()))
			}
			for _, name := range names {
				if strings.HasPrefix(name, word[i+1:]) {
					list = append(list, word[:i+1]+name)
				}
			}
		}
	}
	slices.Sort(list)
	return word, slices.Compact(list)
}

// names are what expressions of the module may begin with.
func (c *Console) names() []string {
	list := slices.Clone(symbols.Surroundings)
	for _, name := range symbols.Names(c.at.Program) {
		list = append(list, name.Name)
	}
	for _, name := range functions.Names() {
		list = append(list, name+"(")
	}
	return list
}
