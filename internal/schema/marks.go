package schema

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/value"
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

// MarkDeprecated marks what comes from deprecated attributes, so that their
// readers are warned. Module and subject name the object; the path of the
// attribute is added to the subject.
func (b *Block) MarkDeprecated(v cty.Value, module, subject string) cty.Value {
	var marked []cty.PathValueMarks
	b.eachDeprecated(v, func(a *Attribute, _ cty.Value, at cty.Path) {
		marks := cty.NewValueMarks(value.Deprecation{
			Message: a.DeprecationMessage, Module: module, Subject: subject + value.PathString(at),
		})
		marked = append(marked, cty.PathValueMarks{Path: at, Marks: marks})
	})
	return value.MarkPaths(v, marked)
}

// DeprecatedSet lists the deprecated attributes that a configuration sets, in
// order. Providers warn of these themselves when they validate; this is for
// configurations that no provider validates.
func (b *Block) DeprecatedSet(config cty.Value) []cty.Path {
	var set []cty.Path
	b.eachDeprecated(config, func(_ *Attribute, v cty.Value, at cty.Path) {
		if !v.IsNull() {
			set = append(set, at)
		}
	})
	value.SortPaths(set)
	return set
}

// HasDeprecated reports whether any attribute in the block is deprecated.
func (b *Block) HasDeprecated() bool {
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

// A visit is told of an attribute, its value, and where it is.
type visit func(a *Attribute, v cty.Value, at cty.Path)

func (b *Block) eachDeprecated(v cty.Value, f visit) {
	if b.HasDeprecated() {
		b.deprecated(v, nil, f)
	}
}

func (b *Block) deprecated(v cty.Value, at cty.Path, f visit) {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return
	}
	deprecatedAttributes(b.Attributes, v, at, f)
	for name, n := range b.Blocks {
		each(part(v, name), n.Nesting, attr(at, name), func(v cty.Value, at cty.Path) {
			n.Block.deprecated(v, at, f)
		})
	}
}

func deprecatedAttributes(attributes map[string]*Attribute, v cty.Value, at cty.Path, f visit) {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return
	}
	for name, a := range attributes {
		inner, here := part(v, name), attr(at, name)
		if a.Deprecated {
			f(a, inner, here)
			continue
		}
		if a.Nested != nil {
			each(inner, a.Nested.Nesting, here, func(v cty.Value, at cty.Path) {
				deprecatedAttributes(a.Nested.Attributes, v, at, f)
			})
		}
	}
}
