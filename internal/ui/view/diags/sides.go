package diags

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

const (
	maxSides = 20  // differences that are shown
	maxSide  = 100 // runes of one side
)

// sides reports where the two sides of a comparison differ, with what each has there.
func sides(b *strings.Builder, c *diag.Comparison, pen ansi.Pen) {
	lines := differing(c)
	if len(lines) == 0 {
		return
	}
	b.WriteString("    " + pen.Paint("├────────────────", ansi.Gray) + "\n")
	bar := "    " + pen.Paint("│", ansi.Gray) + " "
	if len(lines) > 1 {
		b.WriteString(bar + "the sides differ:\n")
		bar += "  "
	} else {
		bar += "the sides differ: "
	}
	for i, line := range lines {
		if i == maxSides {
			line = fmt.Sprintf("and in %d more places", len(lines)-i)
		}
		b.WriteString(bar + sanitize.Line(line) + "\n")
		if i == maxSides {
			break
		}
	}
}

func differing(c *diag.Comparison) []string {
	if c == nil {
		return nil
	}
	left, right := plainSide(c.Left), plainSide(c.Right)
	if left == nil || right == nil {
		return nil
	}
	var lines []string
	walk("", *left, *right, func(at, left, right string) {
		if at != "" {
			at += ": "
		}
		lines = append(lines, at+left+" and "+right)
	})
	l, _ := c.Left.UnmarkDeep()
	r, _ := c.Right.UnmarkDeep()
	if len(lines) == 0 && !l.Type().Equals(r.Type()) {
		lines = append(lines, fmt.Sprintf("they have the same content, and the left one is %s, the right one %s", l.Type().FriendlyName(), r.Type().FriendlyName()))
	}
	return lines
}

// A word stands for a part that has no value to show.
type word string

const (
	sensitive word = "(sensitive)"
	unknown   word = "(not known yet)"
	nothing   word = "nothing"
)

// plainSide is a side as plain data: maps, slices, texts of others, words. It is nil
// where it can't be shown.
func plainSide(v cty.Value) *any {
	if v == cty.NilVal {
		return nil
	}
	var side any
	switch {
	case v.HasMark(value.Sensitive):
		side = sensitive
	case v.IsMarked():
		v, _ = v.Unmark()
		return plainSide(v)
	case !v.IsKnown():
		side = unknown
	case v.IsNull():
		side = word("null")
	case v.Type() == cty.String:
		side = fmt.Sprintf("%q", v.AsString())
	case v.Type() == cty.Number:
		side = v.AsBigFloat().Text('f', -1)
	case v.Type() == cty.Bool:
		side = fmt.Sprint(v.True())
	case v.Type().IsObjectType() || v.Type().IsMapType():
		all := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			if p := plainSide(element); p != nil {
				all[key.AsString()] = *p
			}
		}
		side = all
	case v.CanIterateElements():
		list := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, element := it.Element()
			if p := plainSide(element); p != nil {
				list = append(list, *p)
			}
		}
		side = list
	default:
		return nil
	}
	return &side
}

// walk finds the innermost parts that differ.
func walk(at string, left, right any, found func(at, left, right string)) {
	leftMap, ok := left.(map[string]any)
	rightMap, both := right.(map[string]any)
	if ok && both {
		keys := maps.Clone(leftMap)
		maps.Copy(keys, rightMap)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			walk(at+"."+key, part(leftMap, key), part(rightMap, key), found)
		}
		return
	}
	leftList, ok := left.([]any)
	rightList, both := right.([]any)
	if ok && both {
		for i := range max(len(leftList), len(rightList)) {
			walk(fmt.Sprintf("%s[%d]", at, i), element(leftList, i), element(rightList, i), found)
		}
		return
	}
	if !reflect.DeepEqual(left, right) {
		found(at, short(left), short(right))
	}
}

func part(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return nothing
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nothing
}

// short is one side in one line.
func short(side any) string {
	text := ""
	switch side := side.(type) {
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(side)) {
			parts = append(parts, key+" = "+short(side[key]))
		}
		text = "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range side {
			parts = append(parts, short(e))
		}
		text = "[" + strings.Join(parts, ", ") + "]"
	default:
		text = fmt.Sprint(side)
	}
	if runes := []rune(text); len(runes) > maxSide {
		return string(runes[:maxSide]) + "…"
	}
	return text
}
