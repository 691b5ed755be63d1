package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/naturalsort"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// longest is how many characters of a value are shown.
const longest = 40

const later = "(known after apply)"

// differences are the places in which a change differs, those that force a
// replacement first. Places of which only the provider knows what they will be are
// left out where there are others, or where the object is replaced: they follow.
func differences(p *plan.Plan, c *plan.Change) []Difference {
	if c.Action != plan.Update && !c.Action.IsReplace() || c.Before == cty.NilVal || c.After == cty.NilVal || c.Before.IsNull() || c.After.IsNull() {
		return nil
	}
	s := jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
	f := &finder{forcing: c.ReplacePaths}
	f.compare(nil, jsonstate.Mark(c.Before, s, nil), jsonstate.Mark(c.After, s, nil))
	if c.Action.IsReplace() || slices.ContainsFunc(f.found, func(d found) bool { return !d.follows(s) }) {
		f.found = slices.DeleteFunc(f.found, func(d found) bool { return d.follows(s) })
	}
	slices.SortStableFunc(f.found, func(a, b found) int { return boolean(b.Forces) - boolean(a.Forces) })
	list := make([]Difference, len(f.found))
	for i, d := range f.found {
		list[i] = d.Difference
	}
	return list
}

// Places are the paths in which a change differs, such as tags.name.
func Places(p *plan.Plan, c *plan.Change) []string {
	var list []string
	for _, d := range differences(p, c) {
		list = append(list, d.Path)
	}
	return list
}

// attributes are those that an object has that is created or that ends. Anything that only the
// provider knows, and what isn't set, is left out.
func attributes(p *plan.Plan, c *plan.Change) []Difference {
	v := c.After
	switch c.Action {
	case plan.Create, plan.Read:
	case plan.Delete, plan.Forget:
		v = c.Before
	default:
		return nil
	}
	if v == cty.NilVal || v.IsNull() || !v.Type().IsObjectType() {
		return nil
	}
	s := jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
	v, _ = jsonstate.Mark(v, s, nil).Unmark()
	f := &finder{}
	for _, name := range slices.SortedStableFunc(maps.Keys(v.Type().AttributeTypes()), func(a, b string) int {
		return cmp.Or(rank(s, a)-rank(s, b), naturalsort.Compare(a, b))
	}) {
		f.leaves(cty.GetAttrPath(name), v.GetAttr(name))
	}
	list := make([]Difference, 0, len(f.found))
	for _, d := range f.found {
		if !d.follows(s) {
			list = append(list, d.Difference)
		}
	}
	return list
}

// rank is lower for attributes by which people distinguish objects, and then for those that
// every configuration has.
func rank(s *schema.Schema, name string) int {
	if n := slices.Index([]string{"name", "id", "tags"}, name); n >= 0 {
		return n
	}
	if s == nil || s.Block == nil {
		return 4
	}
	a := s.Block.Attributes[name]
	switch {
	case a != nil && a.Required:
		return 3
	case a != nil && a.Computed && !a.Optional:
		return 5
	}
	return 4
}

// mostLeaves is how many parts of one attribute are listed; of more there is the number.
const mostLeaves = 50

// leaves adds the places below a path that have a value.
func (f *finder) leaves(path cty.Path, v cty.Value) {
	secret := hidden(v)
	v, _ = v.Unmark()
	switch {
	case v.IsKnown() && v.IsNull():
	case secret:
		f.add(path, "", "(sensitive value)")
	case v.IsKnown() && isKeyed(v) && 0 < v.LengthInt() && v.LengthInt() <= mostLeaves:
		parts := v.AsValueMap()
		for _, name := range slices.SortedFunc(maps.Keys(parts), naturalsort.Compare) {
			f.leaves(append(path, cty.GetAttrStep{Name: name}), parts[name])
		}
	case v.IsKnown() && isSequence(v) && v.LengthInt() <= mostLeaves:
		for it := v.ElementIterator(); it.Next(); {
			key, part := it.Element()
			f.leaves(append(path, cty.IndexStep{Key: key}), part)
		}
	case v.IsKnown() && (v.Type().IsSetType() || isKeyed(v) || isSequence(v)) && v.LengthInt() == 0:
	case v.IsKnown() && v.Type().IsSetType() && v.LengthInt() <= mostLeaves && v.Type().ElementType().IsPrimitiveType():
		parts := make([]string, 0, v.LengthInt())
		for it := v.ElementIterator(); it.Next(); {
			_, part := it.Element()
			parts = append(parts, short(part))
		}
		f.add(path, "", "["+strings.Join(parts, ", ")+"]")
	default:
		f.add(path, "", short(v))
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A finder collects places that differ.
type finder struct {
	forcing []cty.Path
	found   []found
}

type found struct {
	Difference
	path cty.Path
}

// follows reports whether the provider alone says what a place will be.
func (d found) follows(s *schema.Schema) bool {
	if d.After != later || d.Forces {
		return false
	}
	if s == nil || s.Block == nil || len(d.path) == 0 {
		return true
	}
	step, ok := d.path[0].(cty.GetAttrStep)
	a := s.Block.Attributes[step.Name]
	return ok && a != nil && a.Computed
}

func (f *finder) add(path cty.Path, before, after string) {
	d := Difference{Path: value.PathName(path), Before: before, After: after}
	for _, forcing := range f.forcing {
		// Either may lead further than the other.
		if n := min(len(forcing), len(path)); n > 0 && path[:n].Equals(forcing[:n]) {
			d.Forces = true
		}
	}
	f.found = append(f.found, found{d, slices.Clone(path)})
}

// compare adds the places below a path in which two values differ.
func (f *finder) compare(path cty.Path, before, after cty.Value) {
	if hidden(before) || hidden(after) {
		b, _ := before.UnmarkDeep()
		a, _ := after.UnmarkDeep()
		if !b.RawEquals(a) {
			f.add(path, "(sensitive value)", "(sensitive value)")
		}
		return
	}
	before, _ = before.Unmark()
	after, _ = after.Unmark()
	switch {
	case !before.IsKnown() || !after.IsKnown() || before.IsNull() || after.IsNull():
		b, _ := before.UnmarkDeep()
		a, _ := after.UnmarkDeep()
		if !b.RawEquals(a) {
			f.add(path, short(before), short(after))
		}
	case isKeyed(before) && isKeyed(after):
		f.keyed(path, before, after)
	case isSequence(before) && isSequence(after) && before.LengthInt() == after.LengthInt():
		b, a := before.AsValueSlice(), after.AsValueSlice()
		for i := range b {
			f.compare(append(path, cty.IndexStep{Key: cty.NumberIntVal(int64(i))}), b[i], a[i])
		}
	default:
		b, _ := before.UnmarkDeep()
		a, _ := after.UnmarkDeep()
		if b.RawEquals(a) {
			return
		}
		if from, to, ok := diff.Documents(b, a); ok {
			f.compare(path, from, to)
			return
		}
		text := lines(b, a)
		if text == "" {
			text = members(b, a)
		}
		if text != "" {
			f.add(path, text, text)
			return
		}
		f.add(path, short(before), short(after))
	}
}

// keyed compares the members of objects and maps.
func (f *finder) keyed(path cty.Path, before, after cty.Value) {
	b, a := before.AsValueMap(), after.AsValueMap()
	names := map[string]bool{}
	for name := range b {
		names[name] = true
	}
	for name := range a {
		names[name] = true
	}
	for _, name := range slices.SortedFunc(maps.Keys(names), naturalsort.Compare) {
		from, had := b[name]
		to, has := a[name]
		if !had {
			from = cty.NullVal(cty.DynamicPseudoType)
		}
		if !has {
			to = cty.NullVal(cty.DynamicPseudoType)
		}
		if !had && isNull(to) || !has && isNull(from) {
			continue
		}
		f.compare(append(path, cty.GetAttrStep{Name: name}), from, to)
	}
}

// hidden reports whether a value as a whole must not be shown.
func hidden(v cty.Value) bool {
	return v != cty.NilVal && (value.HasMark(v, value.Sensitive) || value.HasMark(v, value.Ephemeral))
}

// lines says how much of a text of several lines changes; empty for other values.
func lines(before, after cty.Value) string {
	if before.Type() != cty.String || after.Type() != cty.String {
		return ""
	}
	from, to := strings.SplitAfter(before.AsString(), "\n"), strings.SplitAfter(after.AsString(), "\n")
	if len(from) <= 2 && len(to) <= 2 {
		return ""
	}
	left := map[string]int{}
	for _, line := range from {
		left[line]++
	}
	added := 0
	for _, line := range to {
		if left[line]--; left[line] < 0 {
			added++
		}
	}
	removed := 0
	for _, n := range left {
		removed += max(n, 0)
	}
	return fmt.Sprintf("%s: +%d −%d", count(len(to), "line"), added, removed)
}

// members says how many elements of a set come and go; empty for other values
// and where that isn't known.
func members(before, after cty.Value) string {
	if !before.Type().IsSetType() || !after.Type().IsSetType() || !before.IsWhollyKnown() || !after.IsWhollyKnown() {
		return ""
	}
	without := func(all, others cty.Value) (n int) {
		for it := all.ElementIterator(); it.Next(); {
			if _, v := it.Element(); !others.HasElement(v).True() {
				n++
			}
		}
		return n
	}
	return fmt.Sprintf("%s: +%d −%d", count(after.LengthInt(), "element"), without(after, before), without(before, after))
}

func isNull(v cty.Value) bool { return v.IsKnown() && v.IsNull() }

func isKeyed(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }

func isSequence(v cty.Value) bool { return v.Type().IsListType() || v.Type().IsTupleType() }

// short is a value in a few characters on one line, without secrets.
func short(v cty.Value) string {
	if hidden(v) {
		return "(sensitive value)"
	}
	v, _ = v.Unmark()
	t := v.Type()
	switch {
	case !v.IsKnown():
		return later
	case v.IsNull():
		return "unset"
	case t == cty.String:
		text := v.AsString()
		if n := strings.Count(strings.TrimRight(text, "\n"), "\n"); n > 0 {
			return fmt.Sprintf("%d lines", n+1)
		}
		if runes := []rune(text); len(runes) > longest {
			text = string(runes[:longest-1]) + "…"
		}
		return strconv.Quote(sanitize.Line(text))
	case t == cty.Number:
		return diff.NumberText(v.AsBigFloat())
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case isKeyed(v):
		return count(v.LengthInt(), "member")
	}
	return count(v.LengthInt(), "element")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
