package view

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/summary"
)

const (
	// mostAsked is how many changes of a row are asked for their causes.
	mostAsked = 20
	// mostCauses is how many are named.
	mostCauses = 2
)

// Causes says what the changes of a row come from, as far as that isn't in the row
// itself; empty where it isn't known, or isn't the same for those that are asked: the
// first ones and the last. Where known is nil it goes by what the plan has of that.
func Causes(r *summary.Row, known func(*plan.Change) []string) string {
	asked := r.Changes
	if known == nil {
		known = func(c *plan.Change) []string { return c.Causes }
		asked = slices.DeleteFunc(slices.Clone(asked), func(c *plan.Change) bool { return c.Causes == nil })
	}
	if len(asked) > mostAsked {
		asked = append(slices.Clone(asked[:mostAsked-1]), asked[len(asked)-1])
	}
	var common []string
	for i, c := range asked {
		own := known(c)
		if i == 0 {
			common = slices.Clone(own)
		}
		common = slices.DeleteFunc(common, func(text string) bool { return !slices.Contains(own, text) })
		if len(common) == 0 {
			return ""
		}
	}
	if len(common) == 0 {
		return ""
	}
	if len(common) > mostCauses {
		common = append(common[:mostCauses:mostCauses], "…")
	}
	return "because of " + sanitize.Line(strings.Join(common, ", "))
}
