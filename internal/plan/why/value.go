package why

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// present reports whether there is a known value that isn't null.
func present(v cty.Value) bool { return v != cty.NilVal && v.IsKnown() && !v.IsNull() }

func plain(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	v, _ = v.UnmarkDeep()
	return v
}

// same reports whether two values without marks are certainly equal.
func same(a, b cty.Value) bool {
	if a == cty.NilVal || b == cty.NilVal {
		return a == b
	}
	return a.RawEquals(b) && a.IsWhollyKnown()
}

// differences lists the innermost parts at which two forms of an object
// differ, in order. Sets and sequences of other lengths count as one part.
func differences(before, after cty.Value) []cty.Path {
	var list []cty.Path
	differ(plain(before), plain(after), nil, &list)
	return list
}

func differ(a, b cty.Value, at cty.Path, list *[]cty.Path) {
	if same(a, b) {
		return
	}
	if present(a) && present(b) && (a.Type().IsObjectType() || a.Type().IsMapType()) && (b.Type().IsObjectType() || b.Type().IsMapType()) {
		names := map[string]bool{}
		for _, v := range []cty.Value{a, b} {
			for it := v.ElementIterator(); it.Next(); {
				k, _ := it.Element()
				names[k.AsString()] = true
			}
		}
		sorted := make([]string, 0, len(names))
		for name := range names {
			sorted = append(sorted, name)
		}
		slices.Sort(sorted)
		for _, name := range sorted {
			step := cty.PathStep(cty.GetAttrStep{Name: name})
			if a.Type().IsMapType() {
				step = cty.IndexStep{Key: cty.StringVal(name)}
			}
			differ(memberOf(a, name), memberOf(b, name), append(at[:len(at):len(at)], step), list)
		}
		return
	}
	if present(a) && present(b) && isSequence(a) && isSequence(b) && a.LengthInt() == b.LengthInt() {
		as, bs := a.AsValueSlice(), b.AsValueSlice()
		for i := range as {
			differ(as[i], bs[i], append(at[:len(at):len(at)], cty.IndexStep{Key: cty.NumberIntVal(int64(i))}), list)
		}
		return
	}
	*list = append(*list, at)
}

func isSequence(v cty.Value) bool { return v.Type().IsListType() || v.Type().IsTupleType() }

// memberOf is an attribute or element, NilVal without.
func memberOf(v cty.Value, name string) cty.Value {
	if v.Type().IsObjectType() {
		if !v.Type().HasAttribute(name) {
			return cty.NilVal
		}
		return v.GetAttr(name)
	}
	key := cty.StringVal(name)
	if v.HasIndex(key).False() {
		return cty.NilVal
	}
	return v.Index(key)
}

// at is the part of a value at a path, or of what holds it where the value
// doesn't go so deep; NilVal when there is nothing at all.
func at(v cty.Value, path cty.Path) cty.Value {
	if v == cty.NilVal {
		return v
	}
	for _, step := range path {
		v, _ = v.Unmark()
		if v.IsNull() || !v.IsKnown() {
			break
		}
		next, err := cty.Path{step}.Apply(v)
		if err != nil {
			return cty.NilVal
		}
		v = next
	}
	return v
}

// pathOf turns the rest of a reference into a path.
func pathOf(rest hcl.Traversal) cty.Path {
	var p cty.Path
	for _, step := range rest {
		switch s := step.(type) {
		case hcl.TraverseAttr:
			p = p.GetAttr(s.Name)
		case hcl.TraverseIndex:
			p = p.Index(s.Key)
		default:
			return p
		}
	}
	return p
}

// attribute is the name of the argument that a path begins with, or empty.
func attribute(p cty.Path) string {
	if len(p) > 0 {
		if step, ok := p[0].(cty.GetAttrStep); ok {
			return step.Name
		}
	}
	return ""
}

// textOf is the text of a known string.
func textOf(v cty.Value) (string, bool) {
	if !present(v) || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// shownAs is the text of a known string, number or truth value within another text.
func shownAs(v cty.Value) (string, bool) {
	if !present(v) || !v.Type().IsPrimitiveType() {
		return "", false
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		return "", false
	}
	return text.AsString(), true
}
