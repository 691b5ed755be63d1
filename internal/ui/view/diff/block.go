package diff

import (
	"sort"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

// block compares objects by schema.
func (d differ) block(p pair, b *schema.Block) *Node {
	compare := func(p pair) *Node { return d.block(p, b) }
	if n := d.hidden(p, compare); n != nil {
		return n
	}
	if n := d.unknown(p, compare); n != nil {
		return n
	}
	action := p.change()
	out := &block{attributes: map[string]*Node{}}
	before, after := elementsOf(p.before), elementsOf(p.after)
	for name, a := range b.Attributes {
		if a.WriteOnly {
			continue
		}
		if n := d.attribute(p.child(filled(before[name]), filled(after[name]), cty.GetAttrStep{Name: name}), a); n != nil {
			out.attributes[name] = n
			action = combine(action, n.Action)
		}
	}
	// A write-only argument has no value to compare: it is shown with whatever
	// happens to the object or its attributes, or when it forces a replacement.
	for _, name := range b.Names() {
		if a := b.Attributes[name]; a != nil && a.WriteOnly {
			c := p.child(cty.NilVal, cty.NilVal, cty.GetAttrStep{Name: name})
			of := action
			if of == plan.NoOp && c.replace.ends() {
				of = plan.Update
			}
			out.attributes[name] = c.node(of, &writeOnly{})
			action = combine(action, of)
		}
	}
	for name, nested := range b.Blocks {
		c := p.child(present(before[name]), present(after[name]), cty.GetAttrStep{Name: name})
		out.lists = out.lists || c.before != cty.NilVal || c.after != cty.NilVal
		if g := d.group(name, c, nested); g != nil {
			out.groups = append(out.groups, g)
			action = combine(action, g.action)
		}
	}
	sort.Slice(out.groups, func(i, j int) bool { return out.groups[i].name < out.groups[j].name })
	return p.node(action, out)
}

// filled is present for an attribute of a block, where an empty string is how
// older providers write null.
func filled(v cty.Value) cty.Value {
	v = present(v)
	if v == cty.NilVal {
		return v
	}
	if b := bare(v); b.IsKnown() && b.Type() == cty.String && b.AsString() == "" {
		return cty.NilVal
	}
	return v
}

// attribute compares by the attribute's schema. It answers nil where there is
// nothing on both sides.
func (d differ) attribute(p pair, a *schema.Attribute) *Node {
	if p.before == cty.NilVal && p.after == cty.NilVal {
		return nil
	}
	if a.Nested == nil {
		return d.value(p)
	}
	return d.nested(p, a.Nested)
}

func (d differ) nested(p pair, o *schema.Object) *Node {
	compare := func(p pair) *Node { return d.nested(p, o) }
	if n := d.hidden(p, compare); n != nil {
		return n
	}
	before := compare
	if o.Nesting == schema.Single || o.Nesting == schema.Group {
		// Its attributes don't go away: each becomes known with the object.
		before = func(p pair) *Node {
			p.after = unknownAttributes(o)
			return d.nestedObject(p, o)
		}
	}
	if n := d.unknown(p, before); n != nil {
		return n
	}
	one := func(p pair) *Node { return d.nestedObject(p, o) }
	switch o.Nesting {
	case schema.List:
		parts, action := d.byPlace(p, one)
		return p.node(action, &list{parts: parts})
	case schema.Set:
		return d.set(p, one, true)
	case schema.Map:
		return d.keyed(p, one, true)
	}
	return one(p)
}

// unknownAttributes is an object of which no attribute is known.
func unknownAttributes(o *schema.Object) cty.Value {
	values := map[string]cty.Value{}
	for name, a := range o.Attributes {
		values[name] = cty.UnknownVal(a.ImpliedType())
		if a.Sensitive {
			values[name] = values[name].Mark(value.Sensitive)
		}
	}
	return cty.ObjectVal(values)
}

func (d differ) nestedObject(p pair, o *schema.Object) *Node {
	compare := func(p pair) *Node { return d.nestedObject(p, o) }
	if n := d.hidden(p, compare); n != nil {
		return n
	}
	if n := d.unknown(p, compare); n != nil {
		return n
	}
	if isNull(p.before) || isNull(p.after) {
		return d.value(p)
	}
	before, after := elementsOf(p.before), elementsOf(p.after)
	action := p.change()
	parts := map[string]*Node{}
	for name, a := range o.Attributes {
		if a.WriteOnly {
			continue
		}
		if n := d.attribute(p.child(present(before[name]), present(after[name]), cty.GetAttrStep{Name: name}), a); n != nil {
			parts[name] = n
			action = combine(action, n.Action)
		}
	}
	for name, a := range o.Attributes {
		if a.WriteOnly && action != plan.NoOp {
			parts[name] = p.child(cty.NilVal, cty.NilVal, cty.GetAttrStep{Name: name}).node(action, &writeOnly{})
		}
	}
	return p.node(action, &object{parts: parts, nested: true})
}

// group compares all blocks of one type. It answers nil without one.
func (d differ) group(name string, p pair, n *schema.NestedBlock) *group {
	if p.before == cty.NilVal && p.after == cty.NilVal {
		return nil
	}
	g := &group{name: name, replace: p.replace.ends(), hiddenBefore: isHidden(p.before), hiddenAfter: isHidden(p.after)}
	p.before, p.after = present(bare(p.before)), present(bare(p.after))
	one := func(p pair) *Node { return d.block(p, n.Block) }
	if whole := d.unknown(p, func(p pair) *Node { return p.node(plan.Delete, &ellipsis{}) }); whole != nil {
		g.action, g.blocks = whole.Action, []labelled{{node: whole}}
		return g
	}
	var parts []*Node
	switch n.Nesting {
	case schema.List:
		parts, g.action = d.byPlace(p, one)
	case schema.Set:
		parts, g.action = d.members(p, one)
	case schema.Map:
		before, after := elementsOf(p.before), elementsOf(p.after)
		g.action = p.change()
		for _, key := range keys(before, after) {
			part := one(p.child(before[key], after[key], cty.IndexStep{Key: cty.StringVal(key)}))
			g.blocks = append(g.blocks, labelled{key, true, part})
			g.action = combine(g.action, part.Action)
		}
	default:
		part := one(p)
		parts, g.action = []*Node{part}, part.Action
	}
	for _, part := range parts {
		g.blocks = append(g.blocks, labelled{node: part})
	}
	// A list that comes or goes without blocks in it changes nothing to see.
	if len(g.blocks) == 0 {
		return nil
	}
	if g.action == plan.NoOp && g.hiddenBefore != g.hiddenAfter {
		g.action = plan.Update
	}
	return g
}
