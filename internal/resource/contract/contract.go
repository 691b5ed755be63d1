// Package contract enforces the contract between the engine and providers: the values proposed
// to a provider, and the rules for its answers.
//
// Everything is a pure function of a schema and values. Values come without marks and have the
// implied type of the schema, except where a function says that it checks just that. The
// package doesn't call providers, to know actions or addresses, and to word diagnostics for
// users: it returns errors that name a path (cty.PathError), in the order of the paths, and
// the caller says whose answer it was.
//
// Costs are linear in the size of the values. Elements of sets, which have no
// names to pair them by, are compared only with elements that agree in their
// plain attributes.
package contract

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
)

// A shape is what blocks and objects have in common.
type shape struct {
	attributes map[string]*schema.Attribute
	blocks     map[string]*schema.NestedBlock
	// block: a null configuration keeps the prior value.
	block bool
}

func ofBlock(b *schema.Block) shape   { return shape{b.Attributes, b.Blocks, true} }
func ofObject(o *schema.Object) shape { return shape{attributes: o.Attributes} }

// A place is a path as a list from its end, so that walking costs nothing
// until there is something to report.
type place struct {
	up   *place
	step cty.PathStep
}

func (p *place) attr(name string) *place    { return &place{p, cty.GetAttrStep{Name: name}} }
func (p *place) index(key cty.Value) *place { return &place{p, cty.IndexStep{Key: key}} }
func (p *place) element(k string) *place    { return p.index(cty.StringVal(k)) }
func (p *place) path() cty.Path {
	var path cty.Path
	for ; p != nil; p = p.up {
		path = append(path, p.step)
	}
	slices.Reverse(path)
	return path
}

// problems gathers errors.
type problems struct{ errs []error }

func (p *problems) addf(at *place, format string, args ...any) {
	p.errs = append(p.errs, at.path().NewErrorf(format, args...))
}

// sorted is the errors in the order of their paths; maps are walked in any
// order.
func (p *problems) sorted() []error {
	slices.SortStableFunc(p.errs, func(a, b error) int { return value.ComparePaths(pathOf(a), pathOf(b)) })
	return p.errs
}

func pathOf(err error) cty.Path {
	if e, ok := err.(cty.PathError); ok {
		return e.Path
	}
	return nil
}

// keyText is an index as it is written; elements of sets have no name.
func keyText(key cty.Value) string {
	switch {
	case key == cty.NilVal || key.IsNull() || !key.IsKnown():
		return "..."
	case key.Type() == cty.String:
		return strconv.Quote(key.AsString())
	case key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	}
	return "..."
}

// missing reports whether there is nothing to take from v.
func missing(v cty.Value) bool { return v == cty.NilVal || v.IsNull() }

// part is an attribute of v, NilVal when v is missing.
func part(v cty.Value, name string) cty.Value {
	if missing(v) || v.Type().IsObjectType() && !v.Type().HasAttribute(name) {
		return cty.NilVal
	}
	return v.GetAttr(name)
}

// known reports whether v is a container that can be looked into.
func known(v cty.Value) bool { return !missing(v) && v.IsKnown() }

// elements lists the elements of any collection or structure by key, empty without one to see.
func elements(v cty.Value) map[string]cty.Value {
	if !known(v) {
		return nil
	}
	if v.Type().IsObjectType() && !v.IsMarked() {
		return value.Attributes(v)
	}
	return v.AsValueMap()
}

func slice(v cty.Value) []cty.Value {
	if !known(v) {
		return nil
	}
	return v.AsValueSlice()
}

// count is the number of elements that are to be seen.
func count(v cty.Value) int {
	if !known(v) {
		return 0
	}
	return v.LengthInt()
}

func dump(v cty.Value) string { return fmt.Sprintf("%#v", v) }

// listLike makes a list of the elements, or a tuple where the value that they come from is one
// or they differ in type. Like mapLike and setLike it gives what can be known apart by
// Conforms rather than a panic.
func listLike(like cty.Value, vs []cty.Value) cty.Value {
	ty := like.Type()
	if ty.IsTupleType() {
		return cty.TupleVal(vs)
	}
	if len(vs) == 0 {
		return cty.ListValEmpty(ty.ElementType())
	}
	if !cty.CanListVal(vs) {
		return cty.TupleVal(vs)
	}
	return cty.ListVal(vs)
}

func mapLike(like cty.Value, vs map[string]cty.Value) cty.Value {
	ty := like.Type()
	if ty.IsObjectType() {
		return cty.ObjectVal(vs)
	}
	if len(vs) == 0 {
		return cty.MapValEmpty(ty.ElementType())
	}
	if !cty.CanMapVal(vs) {
		return cty.ObjectVal(vs)
	}
	return cty.MapVal(vs)
}

func setLike(like cty.Value, vs []cty.Value) cty.Value {
	if len(vs) == 0 {
		return cty.SetValEmpty(like.Type().ElementType())
	}
	if !cty.CanSetVal(vs) {
		return cty.TupleVal(vs)
	}
	return cty.SetVal(vs)
}

// same reports whether two values are equal, with unknown values of one type
// equal to each other whatever is known about their range.
func same(a, b cty.Value) bool {
	if a == cty.NilVal || b == cty.NilVal {
		return false
	}
	if a.IsNull() && b.IsNull() {
		return true
	}
	return a.Type().Equals(b.Type()) && sameTyped(a, b)
}

func sameTyped(a, b cty.Value) bool {
	if !a.IsKnown() || !b.IsKnown() {
		return a.IsKnown() == b.IsKnown()
	}
	if a.IsNull() || b.IsNull() {
		return a.IsNull() == b.IsNull()
	}
	ty := a.Type()
	switch {
	case ty.IsObjectType():
		for name := range ty.AttributeTypes() {
			if !sameTyped(a.GetAttr(name), b.GetAttr(name)) {
				return false
			}
		}
		return true
	case ty.IsListType(), ty.IsTupleType(), ty.IsMapType():
		if a.LengthInt() != b.LengthInt() {
			return false
		}
		for i, j := a.ElementIterator(), b.ElementIterator(); i.Next() && j.Next(); {
			ak, av := i.Element()
			bk, bv := j.Element()
			if !ak.RawEquals(bk) || !sameTyped(av, bv) {
				return false
			}
		}
		return true
	case ty.IsSetType():
		return a.RawEquals(b) || !a.IsWhollyKnown() && !b.IsWhollyKnown() && unrefined(a).RawEquals(unrefined(b))
	}
	return a.RawEquals(b)
}

// unrefined drops what is known about the range of unknown values.
func unrefined(v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.UnknownVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return v
	}
	return out
}

// keyed sorts values into buckets by the named attributes, for pairing the
// elements of sets. Without names all values share a bucket.
func keyed(names []string, v cty.Value) int {
	key := 0
	for _, name := range names {
		if a := part(v, name); a != cty.NilVal {
			key = key*31 + a.Hash()
		}
	}
	return key
}

func sortedNames(m map[string]cty.Value) []string {
	return slices.Sorted(maps.Keys(m))
}
