package contract

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
)

// A Change is what the difference between two forms of an object asks for.
type Change uint8

const (
	None Change = iota
	Create
	Update
	Replace
	Delete
)

func (c Change) String() string {
	return [...]string{"no-op", "create", "update", "replace", "delete"}[c]
}

// Action compares a prior and a planned object. Paths are those that
// RequiresReplace has let through; force makes a replacement of anything that
// exists and remains.
func Action(prior, planned cty.Value, paths []cty.Path, force bool) Change {
	switch {
	case missing(prior) && missing(planned):
		return None
	case missing(prior):
		return Create
	case missing(planned):
		return Delete
	case force:
		return Replace
	case equal(prior, planned):
		return None
	case len(paths) > 0:
		return Replace
	}
	return Update
}

// equal reports whether the values are known to be equal; null attributes are
// equal whatever their type.
func equal(a, b cty.Value) bool {
	if ty := a.Type(); ty.IsObjectType() && known(a) && known(b) && ty.Equals(b.Type()) {
		for name := range ty.AttributeTypes() {
			if !equal(a.GetAttr(name), b.GetAttr(name)) {
				return false
			}
		}
		return true
	}
	eq := a.Equals(b)
	return eq.IsKnown() && eq.True()
}

// RequiresReplace selects the paths whose change does call for a replacement:
// those where prior and planned differ, and those of write-only attributes,
// whose values nobody can compare. A path that leads nowhere in either value
// is an error of the provider.
//
// With a null prior nothing is replaced.
func RequiresReplace(b *schema.Block, prior, planned cty.Value, paths []cty.Path) ([]cty.Path, []error) {
	if missing(prior) || missing(planned) {
		return nil, nil
	}
	var kept []cty.Path
	p := &problems{}
	seen := make(map[string]bool, len(paths))
	for _, path := range paths {
		text := value.PathString(path)
		if seen[text] {
			continue
		}
		seen[text] = true
		before, nowhereBefore := valueAt(prior, path)
		after, nowhereAfter := valueAt(planned, path)
		switch {
		case nowhereBefore && nowhereAfter:
			p.errs = append(p.errs, path.NewErrorf("there is no such attribute, yet it was said to require a replacement"))
		case nowhereBefore, nowhereAfter, !equal(before, after):
			// A path that leads nowhere on one side counts as a change, even beside a null: so do
			// OpenTofu and Terraform take it.
			kept = append(kept, path)
		default:
			if a := AttributeAt(b, path); a != nil && a.WriteOnly {
				kept = append(kept, path)
			}
		}
	}
	return kept, p.sorted()
}

// valueAt follows the path, by the rules of index and attribute expressions.
func valueAt(v cty.Value, path cty.Path) (_ cty.Value, nowhere bool) {
	out, diags := hcl.ApplyPath(v, path, nil)
	return out, diags.HasErrors()
}

// AttributeAt is the attribute that a path ends at, nil when it ends at
// something else. Indices don't matter.
func AttributeAt(b *schema.Block, path cty.Path) *schema.Attribute {
	at := ofBlock(b)
	var found *schema.Attribute
	for _, step := range path {
		get, ok := step.(cty.GetAttrStep)
		if !ok {
			if found != nil && found.Nested == nil {
				return nil // inside a plain value
			}
			continue
		}
		if a := at.attributes[get.Name]; a != nil {
			found = a
			at = shape{}
			if a.Nested != nil {
				at = ofObject(a.Nested)
			}
			continue
		}
		nested := at.blocks[get.Name]
		if nested == nil {
			return nil
		}
		found, at = nil, ofBlock(nested.Block)
	}
	if len(path) > 0 {
		if _, ok := path[len(path)-1].(cty.IndexStep); ok {
			return nil
		}
	}
	return found
}

// Identity checks what a provider returned as the identity of an object. It
// must be of the declared type, and wholly known unless it is planned for an
// object that doesn't exist yet.
func Identity(o *schema.Object, v cty.Value, planned bool) []error {
	if v == cty.NilVal || v.IsNull() {
		return nil
	}
	if errs := Conforms(v, o.ImpliedType()); errs != nil {
		return errs
	}
	if !planned && !v.IsWhollyKnown() {
		return []error{fmt.Errorf("an identity must be known, but parts of this one aren't")}
	}
	return nil
}
