package contract

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/schema"
)

// Compatible checks that an actual object is a completion of a planned one:
// what was known is still the same, what was unknown has become anything
// within what was promised of it. The errors speak to provider developers;
// those about sensitive attributes don't tell values.
func Compatible(b *schema.Block, planned, actual cty.Value) []error {
	c := &completion{}
	c.block(nil, b, planned, actual)
	return c.sorted()
}

type completion struct{ problems }

func (c *completion) block(at *place, b *schema.Block, planned, actual cty.Value) {
	root := ""
	if at == nil {
		root = "root object "
	}
	switch {
	case planned.IsNull() && actual.IsNull():
		return
	case planned.IsNull():
		c.addf(at, "%swas absent, but now present", root)
		return
	case actual.IsNull():
		c.addf(at, "%swas present, but now absent", root)
		return
	}
	for name, a := range b.Attributes {
		c.attribute(at, name, a, part(planned, name), part(actual, name))
	}
	for name, nested := range b.Blocks {
		c.nested(at.attr(name), nested, part(planned, name), part(actual, name))
	}
}

func (c *completion) nested(at *place, n *schema.NestedBlock, planned, actual cty.Value) {
	if n.Computed {
		switch {
		case actual.IsNull() && n.Nesting != schema.Single:
			c.addf(at, "computed blocks must be empty to indicate no blocks, not null")
			return
		case !planned.IsKnown():
			if planned.Range().Includes(actual).RawEquals(cty.False) {
				c.addf(at, "the blocks do not conform to planning placeholder %s", dump(planned))
			}
			return
		}
	}
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		// A dynamic block whose keys weren't known may have no blocks.
		if planned.IsKnown() || !actual.IsNull() {
			c.block(at, n.Block, planned, actual)
		}
		return
	}
	// Null and empty are one where blocks are collected; a count that wasn't
	// known promises nothing.
	if !known(planned) || !known(actual) {
		return
	}
	switch n.Nesting {
	case schema.List:
		if have, want := count(actual), count(planned); have != want {
			c.addf(at, "block count changed from %d to %d", want, have)
			return
		}
		as := slice(actual)
		for i, element := range slice(planned) {
			c.block(at.index(cty.NumberIntVal(int64(i))), n.Block, element, as[i])
		}
	case schema.Map:
		ps, as := elements(planned), elements(actual)
		for key, element := range ps {
			if a, ok := as[key]; ok {
				c.block(at.element(key), n.Block, element, a)
			} else {
				c.addf(at, "block key %q has vanished", key)
			}
		}
		c.appeared(at, "new block key %s has appeared", ps, as)
	case schema.Set:
		c.set(at, planned, actual, n.HasSensitive(), "block set length", func(planned, actual cty.Value) bool {
			var inner completion
			inner.block(nil, n.Block, planned, actual)
			return inner.errs == nil
		})
	}
}

// appeared reports the keys that weren't planned.
func (c *completion) appeared(at *place, format string, planned, actual map[string]cty.Value) {
	var keys []string
	for key := range actual {
		if _, ok := planned[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		c.addf(at, format, keyText(cty.StringVal(key)))
	}
}

func (c *completion) attribute(up *place, name string, a *schema.Attribute, planned, actual cty.Value) {
	at := up.attr(name)
	if planned.Type() == cty.DynamicPseudoType {
		return
	}
	var inner completion
	if errs := actual.Type().TestConformance(planned.Type()); errs != nil {
		inner.addf(at, "wrong final value type: %s", convert.MismatchMessage(actual.Type(), planned.Type()))
	} else {
		inner.value(at, a.Nested, planned, actual)
	}
	if inner.errs != nil && a.Sensitive {
		c.addf(at, "inconsistent values for sensitive attribute")
		return
	}
	c.errs = append(c.errs, inner.errs...)
}

// value compares values of conforming types. The object reports what is sensitive in the
// value, nil when nothing is.
func (c *completion) value(at *place, o *schema.Object, planned, actual cty.Value) {
	show := dump
	if o != nil && hides(o) {
		show = func(v cty.Value) string {
			if v.IsNull() {
				return "null"
			}
			return "(with sensitive parts)"
		}
	}
	switch {
	case planned.Type() == cty.DynamicPseudoType:
	case !planned.IsKnown():
		if planned.Range().Includes(actual).RawEquals(cty.False) {
			c.addf(at, "final value %s does not conform to planning placeholder %s", show(actual), dump(planned))
		}
	case planned.IsNull() && actual.IsNull():
	case actual.IsNull():
		c.addf(at, "was %s, but now null", show(planned))
	case planned.IsNull():
		c.addf(at, "was null, but now %s", show(actual))
	case !actual.IsKnown():
		c.addf(at, "was known, but now unknown")
	default:
		c.content(at, o, planned, actual)
	}
}

func (c *completion) content(at *place, o *schema.Object, planned, actual cty.Value) {
	ty := planned.Type()
	switch {
	case ty.IsPrimitiveType():
		if actual.Equals(planned).False() {
			c.addf(at, "was %s, but now %s", dump(planned), dump(actual))
		}
	case ty.IsObjectType() && (o == nil || o.Nesting != schema.Map):
		for name := range ty.AttributeTypes() {
			c.member(at, o, name, part(planned, name), part(actual, name))
		}
	case ty.IsMapType(), ty.IsObjectType():
		ps, as := elements(planned), elements(actual)
		for key, element := range ps {
			if a, ok := as[key]; ok {
				c.value(at.element(key), single(o), element, a)
			} else {
				c.addf(at, "element %s has vanished", keyText(cty.StringVal(key)))
			}
		}
		c.appeared(at, "new element %s has appeared", ps, as)
	case ty.IsListType(), ty.IsTupleType():
		ps, as := slice(planned), slice(actual)
		for i, element := range ps {
			if i >= len(as) {
				c.addf(at, "element %d has vanished", i)
				continue
			}
			c.value(at.index(cty.NumberIntVal(int64(i))), single(o), element, as[i])
		}
		for i := len(ps); i < len(as); i++ {
			c.addf(at, "new element %d has appeared", i)
		}
	case ty.IsSetType():
		c.set(at, planned, actual, o != nil && hides(o), "length", func(planned, actual cty.Value) bool {
			var inner completion
			inner.value(nil, nil, planned, actual)
			return inner.errs == nil
		})
	}
}

// member compares an attribute of an object, which may be a nested attribute
// with its own schema.
func (c *completion) member(up *place, o *schema.Object, name string, planned, actual cty.Value) {
	if o != nil && o.Attributes[name] != nil {
		c.attribute(up, name, o.Attributes[name], planned, actual)
		return
	}
	c.value(up.attr(name), nil, planned, actual)
}

// single is the schema of one object in a collection of objects.
func single(o *schema.Object) *schema.Object {
	if o == nil || o.Nesting == schema.Single {
		return o
	}
	return &schema.Object{Attributes: o.Attributes, Nesting: schema.Single}
}

// set checks that each element of either set has a partner in the other one.
// Elements that turn out to be equal coalesce, so the set may shrink.
func (c *completion) set(at *place, planned, actual cty.Value, secret bool, noun string, fits func(planned, actual cty.Value) bool) {
	if planned.RawEquals(actual) {
		return
	}
	ps, as := slice(planned), slice(actual)
	key := commonKey(ps)
	partners := make(map[int][]int)
	for i, a := range as {
		k := key(a)
		partners[k] = append(partners[k], i)
	}
	found := make([]bool, len(as))
	lonely := false
	show := dump
	if secret {
		show = func(cty.Value) string { return "(with sensitive parts)" }
	}
	for _, p := range ps {
		any := false
		for _, i := range partners[key(p)] {
			if fits(p, as[i]) {
				any, found[i] = true, true
			}
		}
		if !any {
			lonely = true
			c.addf(at, "planned set element %s does not correlate with any element in actual", show(p))
		}
	}
	if lonely {
		return // the other view would tell the same twice
	}
	for i, ok := range found {
		if !ok {
			c.addf(at, "actual set element %s does not correlate with any element in plan", show(as[i]))
		}
	}
	if len(ps) < len(as) {
		c.addf(at, "%s changed from %d to %d", noun, len(ps), len(as))
	}
}

// commonKey is a function that is equal for elements that can be partners:
// it looks at what is known in every planned element.
func commonKey(planned []cty.Value) func(cty.Value) int {
	if len(planned) == 0 {
		return func(cty.Value) int { return 0 }
	}
	if !planned[0].Type().IsObjectType() {
		if slices.ContainsFunc(planned, func(v cty.Value) bool { return !v.IsWhollyKnown() }) {
			return func(cty.Value) int { return 0 }
		}
		return func(v cty.Value) int { return v.Hash() }
	}
	var names []string
	for name, ty := range planned[0].Type().AttributeTypes() {
		if ty.IsPrimitiveType() && !slices.ContainsFunc(planned, func(v cty.Value) bool {
			return !known(v) || !v.GetAttr(name).IsKnown()
		}) {
			names = append(names, name)
		}
	}
	return func(v cty.Value) int {
		if !known(v) {
			return 0
		}
		return keyed(names, v)
	}
}

// Conforms checks that a value has the type that the schema implies. The
// errors name what is wrong where.
func Conforms(v cty.Value, want cty.Type) []error {
	if v == cty.NilVal {
		return []error{fmt.Errorf("no value at all")}
	}
	if conforms(v.Type(), want) {
		return nil
	}
	p := &problems{}
	p.errs = append(p.errs, v.Type().TestConformance(want)...)
	return p.sorted()
}

// conforms reports whether a type is the one that is wanted, with anything in
// the place of dynamic types. It looks into objects, since that is where types
// of whole objects differ.
func conforms(ty, want cty.Type) bool {
	switch {
	case want == cty.DynamicPseudoType:
		return true
	case !want.IsObjectType():
		return ty.Equals(want)
	case !ty.IsObjectType():
		return false
	}
	have, wanted := ty.AttributeTypes(), want.AttributeTypes()
	if len(have) != len(wanted) {
		return false
	}
	for name, inner := range wanted {
		if !ty.HasAttribute(name) || !conforms(have[name], inner) {
			return false
		}
	}
	return true
}
