package mocks

import (
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
)

// A composer completes one object.
type composer struct {
	at    addr.Instance
	block *schema.Block
	given Given
	seed  uint64
	// strict: values that can't be used are errors; lenient: not even those of
	// the wrong type.
	strict, lenient bool
	// planning: what is computed and null is to be completed, if it is known so
	// early; otherwise what is unknown.
	planning bool
	diags    diag.List
}

func (m *mock) composer(at addr.Instance, b *schema.Block) *composer {
	return &composer{at: at, block: b, given: m.given(at), seed: m.Seed, strict: m.Strict}
}

// compose completes an object from what is given, and what is left with values
// that are made up.
func (c *composer) compose(object, config cty.Value) (cty.Value, diag.List) {
	if !c.planning && c.given.Values == cty.NilVal && value.WhollyKnown(object) {
		return object, nil // nothing is open, and nothing else is given
	}
	v := c.fill(c.block.Attributes, c.block.Blocks, object, config, c.given.Values, "")
	return v, c.diags
}

// field is one attribute of given values, NilVal without.
func field(given cty.Value, name string) cty.Value {
	if given == cty.NilVal || given.IsNull() || !given.IsKnown() {
		return cty.NilVal
	}
	switch ty := given.Type(); {
	case ty.IsObjectType() && ty.HasAttribute(name):
		return given.GetAttr(name)
	case ty.IsMapType() && given.HasIndex(cty.StringVal(name)).True():
		return given.Index(cty.StringVal(name))
	}
	return cty.NilVal
}

func attr(v cty.Value, name string) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute(name) {
		return cty.NilVal
	}
	return v.GetAttr(name)
}

func missing(v cty.Value) bool { return v == cty.NilVal || v.IsKnown() && v.IsNull() }

func (c *composer) problem(summary, detail string, args ...any) {
	c.diags.Add(BadMock.As(summary).New(diag.Error, "%s: %s", c.at, fmt.Sprintf(detail, args...)))
}

func (c *composer) fill(attrs map[string]*schema.Attribute, blocks map[string]*schema.NestedBlock, object, config, given cty.Value, path string) cty.Value {
	if object.IsNull() || !object.IsKnown() {
		return object
	}
	values := make(map[string]cty.Value, len(attrs)+len(blocks))
	for name := range object.Type().AttributeTypes() {
		values[name] = object.GetAttr(name)
	}
	for name, a := range c.inOrder(attrs, given) {
		values[name] = c.attribute(a, name, values[name], attr(config, name), field(given, name), path)
	}
	for _, name := range sorted(blocks) {
		nested, own, inner := blocks[name], values[name], field(given, name)
		if nested.Computed && nested.Nesting != schema.Single && missing(own) {
			own = nested.EmptyValue() // a mock chooses none
		}
		if inner != cty.NilVal && c.strict {
			if !inner.Type().IsObjectType() && !inner.Type().IsMapType() {
				c.problem(fmt.Sprintf("Invalid override for block field `%s`", name), "blocks are given values as objects, and this is %s.", inner.Type().FriendlyName())
				continue
			}
			if missing(own) || own.IsKnown() && own.CanIterateElements() && own.LengthInt() == 0 {
				c.problem(fmt.Sprintf("Invalid override for block field `%s`", name), "there is no such block in the configuration that could be given values.")
			}
		}
		values[name] = c.nested(nested.Nesting, own, attr(config, name), func(object, config cty.Value, at string) cty.Value {
			return c.fill(nested.Attributes, nested.Blocks, object, config, inner, path+"."+name+at)
		})
	}
	if c.strict && given != cty.NilVal && given.CanIterateElements() {
		for it := given.ElementIterator(); it.Next(); {
			key, _ := it.Element()
			if name := key.AsString(); attrs[name] == nil && blocks[name] == nil {
				c.problem(fmt.Sprintf("Invalid override for block field `%s`", name), "the field is unknown. It has to be one of the resource type.")
			}
		}
	}
	return cty.ObjectVal(values)
}

// inOrder are the attributes, in the order of their names where problems may have to be
// reported: only given values have any.
func (c *composer) inOrder(attrs map[string]*schema.Attribute, given cty.Value) iter.Seq2[string, *schema.Attribute] {
	if given == cty.NilVal {
		return maps.All(attrs)
	}
	return func(yield func(string, *schema.Attribute) bool) {
		for _, name := range sorted(attrs) {
			if !yield(name, attrs[name]) {
				return
			}
		}
	}
}

// sorted lists names in order, so that problems are reported in one.
func sorted[T any](all map[string]T) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nested completes the objects of a nested block or attribute.
func (c *composer) nested(n schema.Nesting, own, config cty.Value, each func(object, config cty.Value, at string) cty.Value) cty.Value {
	if missing(own) || !own.IsKnown() {
		return own
	}
	if n == schema.Single || n == schema.Group {
		return each(own, config, "")
	}
	if own.LengthInt() == 0 {
		return own
	}
	var configs []cty.Value
	byKey := map[string]cty.Value{}
	if !missing(config) && config.IsKnown() {
		for it := config.ElementIterator(); it.Next(); {
			key, v := it.Element()
			configs = append(configs, v)
			if key.Type() == cty.String && key.IsKnown() {
				byKey[key.AsString()] = v
			}
		}
	}
	ty := own.Type()
	var list []cty.Value
	byName := map[string]cty.Value{}
	for it := own.ElementIterator(); it.Next(); {
		key, v := it.Element()
		if ty.IsMapType() || ty.IsObjectType() {
			name := key.AsString()
			byName[name] = each(v, byKey[name], "["+name+"]")
			continue
		}
		of := cty.NilVal
		if len(list) < len(configs) {
			of = configs[len(list)]
		}
		list = append(list, each(v, of, "["+strconv.Itoa(len(list))+"]"))
	}
	switch {
	case ty.IsListType():
		return cty.ListVal(list)
	case ty.IsSetType():
		return cty.SetVal(list)
	case ty.IsTupleType():
		return cty.TupleVal(list)
	case ty.IsMapType():
		return cty.MapVal(byName)
	}
	return cty.ObjectVal(byName)
}

// attribute completes an attribute of the object at the path.
func (c *composer) attribute(a *schema.Attribute, name string, own, config, given cty.Value, path string) cty.Value {
	if a.WriteOnly {
		return cty.NullVal(a.ImpliedType())
	}
	if given != cty.NilVal {
		if given = c.usable(a, name, config, given); given == cty.NilVal && c.diags.HasErrors() {
			return own
		}
	}
	configured := !missing(config)
	switch {
	case a.Computed && !configured && c.open(own, given):
		switch {
		case c.planning && !c.given.Planned:
			return cty.UnknownVal(a.ImpliedType())
		case given != cty.NilVal:
			return given
		}
		return c.generate(a.ImpliedType(), path+"."+name)
	case given != cty.NilVal && !configured && missing(own): // optional
		return given
	case a.Nested != nil && configured:
		return c.nested(a.Nested.Nesting, own, config, func(object, config cty.Value, at string) cty.Value {
			return c.fill(a.Nested.Attributes, nil, object, config, given, path+"."+name+at)
		})
	}
	return own
}

// open reports whether an attribute that is computed has no value yet, or is
// given another one than it had before.
func (c *composer) open(own, given cty.Value) bool {
	if !c.planning {
		return !own.IsKnown()
	}
	return missing(own) || !own.IsKnown() || given != cty.NilVal && c.given.Planned
}

// usable returns the given value in the attribute's type, NilVal if it can't be
// used.
func (c *composer) usable(a *schema.Attribute, name string, config, given cty.Value) cty.Value {
	switch {
	case c.strict && !missing(config):
		c.problem(fmt.Sprintf("Invalid mock/override field `%s`", name), "the configuration sets the field, and what it sets can't be overridden.")
		return cty.NilVal
	case c.strict && !a.Computed:
		c.problem(fmt.Sprintf("Non-computed field `%s` is not allowed to be overridden", name), "only what the provider computes can be given values.")
		return cty.NilVal
	case !a.Computed || !missing(config):
		return cty.NilVal
	}
	converted, err := value.Convert(given, a.ImpliedType())
	if err != nil && !c.lenient {
		c.problem(fmt.Sprintf("Invalid mock/override field `%s`", name), "the value doesn't have the field's type: %s.", value.ErrorString("", err))
	}
	if err != nil {
		return cty.NilVal
	}
	converted, _ = converted.UnmarkDeep()
	return converted
}

// unknownComputed is an object whose computed attributes are open.
func unknownComputed(b *schema.Block, config cty.Value) cty.Value {
	return openComputed(b.Attributes, b.Blocks, config)
}

func openComputed(attrs map[string]*schema.Attribute, blocks map[string]*schema.NestedBlock, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	c := &composer{}
	values := config.AsValueMap()
	for name, a := range attrs {
		switch {
		case a.Computed && missing(values[name]):
			values[name] = cty.UnknownVal(a.ImpliedType())
		case a.Nested != nil:
			values[name] = c.nested(a.Nested.Nesting, values[name], cty.NilVal, func(object, _ cty.Value, _ string) cty.Value {
				return openComputed(a.Nested.Attributes, nil, object)
			})
		}
	}
	for name, nested := range blocks {
		values[name] = c.nested(nested.Nesting, values[name], cty.NilVal, func(object, _ cty.Value, _ string) cty.Value {
			return openComputed(nested.Attributes, nested.Blocks, object)
		})
	}
	return cty.ObjectVal(values)
}

const (
	textLength = 8
	letters    = "abcdefghijklmnopqrstuvwxyz0123456789"
)

// generate makes up a value that follows from the seed, the address and the
// path in the object.
func (c *composer) generate(ty cty.Type, path string) cty.Value {
	switch {
	case ty == cty.String:
		n := c.hash(path)
		var text [textLength]byte
		for i := range text {
			text[i] = letters[n%uint64(len(letters))]
			n /= uint64(len(letters))
		}
		return cty.StringVal(string(text[:]))
	case ty == cty.Number:
		const limit = 1 << 31 // what every program can hold
		return cty.NumberIntVal(int64(c.hash(path) % limit))
	case ty == cty.Bool:
		return cty.BoolVal(c.hash(path)%2 == 0)
	case ty.IsListType():
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsMapType():
		return cty.MapValEmpty(ty.ElementType())
	case ty.IsObjectType():
		values := map[string]cty.Value{}
		for name, inner := range ty.AttributeTypes() {
			values[name] = c.generate(inner, path+"."+name)
		}
		return cty.ObjectVal(values)
	case ty.IsTupleType():
		var list []cty.Value
		for i, inner := range ty.TupleElementTypes() {
			list = append(list, c.generate(inner, path+"["+strconv.Itoa(i)+"]"))
		}
		return cty.TupleVal(list)
	}
	return cty.NullVal(ty)
}

func (c *composer) hash(path string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s", c.seed, c.at, path)
	// The bits of similar texts differ little; this mixes them.
	n := h.Sum64()
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53
	return n ^ n>>33
}
