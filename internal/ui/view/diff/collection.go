package diff

import (
	"sort"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

// object compares objects attribute by attribute. An attribute that is null is
// as good as absent.
func (d differ) object(p pair) *Node {
	before, after := elementsOf(p.before), elementsOf(p.after)
	action := p.change()
	parts := map[string]*Node{}
	for _, name := range keys(before, after) {
		b, a := before[name], after[name]
		if !d.loose {
			b, a = present(b), present(a)
		}
		if b == cty.NilVal && a == cty.NilVal {
			continue
		}
		parts[name] = d.value(p.child(b, a, cty.GetAttrStep{Name: name}))
		action = combine(action, parts[name].Action)
	}
	return p.node(action, &object{parts: parts})
}

// mapping compares maps; a null element is an element.
func (d differ) mapping(p pair) *Node {
	return d.keyed(p, d.value, false)
}

func (d differ) keyed(p pair, compare func(pair) *Node, nested bool) *Node {
	before, after := elementsOf(p.before), elementsOf(p.after)
	action := p.change()
	parts := map[string]*Node{}
	for _, key := range keys(before, after) {
		parts[key] = compare(p.child(before[key], after[key], cty.IndexStep{Key: cty.StringVal(key)}))
		action = combine(action, parts[key].Action)
	}
	return p.node(action, &mapping{parts: parts, nested: nested})
}

// list finds which elements stayed, so that an insertion doesn't make all that
// follow look changed.
func (d differ) list(p pair) *Node {
	before, after := sliceOf(p.before), sliceOf(p.after)
	pairable := func(i, j int) bool { return d.pairable(before[i], after[j]) }
	action := p.change()
	var parts []*Node
	align(fingerprints(before), fingerprints(after), pairable, func(i, j int) {
		n := d.value(p.element(at(before, i), at(after, j), max(i, j)))
		parts = append(parts, n)
		action = combine(action, n.Action)
	})
	return p.node(action, &list{parts: parts, context: true})
}

// pairable reports whether an element is better shown as changed than as one
// that goes and another that comes.
func (d differ) pairable(b, a cty.Value) bool {
	b, a = bare(b), bare(a)
	if b.IsNull() || a.IsNull() || !b.IsKnown() || !a.IsKnown() {
		return false
	}
	k := kindOf(b, d.loose)
	if k != kindOf(a, d.loose) {
		return false
	}
	return k.isCollection() || k == stringKind && isMultiline(b.AsString()) && isMultiline(a.AsString())
}

// tuple compares elements by place.
func (d differ) tuple(p pair) *Node {
	parts, action := d.byPlace(p, d.value)
	return p.node(action, &list{parts: parts, context: true})
}

func (d differ) byPlace(p pair, compare func(pair) *Node) ([]*Node, plan.Action) {
	before, after := sliceOf(p.before), sliceOf(p.after)
	action := p.change()
	var parts []*Node
	for i := range max(len(before), len(after)) {
		index := cty.IndexStep{Key: cty.NumberIntVal(int64(i))}
		n := compare(p.child(get(before, i), get(after, i), index))
		parts = append(parts, n)
		action = combine(action, n.Action)
	}
	return parts, action
}

// set compares sets: an element stayed, goes or comes.
func (d differ) set(p pair, compare func(pair) *Node, nested bool) *Node {
	parts, action := d.members(p, compare)
	return p.node(action, &list{parts: parts, pushReplace: nested})
}

func (d differ) members(p pair, compare func(pair) *Node) ([]*Node, plan.Action) {
	before, after := sliceOf(p.before), sliceOf(p.after)
	left := map[string][]int{}
	marks := fingerprints(after)
	for j, m := range marks {
		left[m] = append(left[m], j)
	}
	stays := make([]bool, len(after))
	action := p.change()
	var parts []*Node
	add := func(b, a cty.Value) {
		n := compare(p.element(b, a, 0))
		parts = append(parts, n)
		action = combine(action, n.Action)
	}
	for i, m := range fingerprints(before) {
		if rest := left[m]; len(rest) > 0 {
			left[m] = rest[1:]
			stays[rest[0]] = true
			add(before[i], after[rest[0]])
			continue
		}
		add(before[i], cty.NilVal)
	}
	for j, stayed := range stays {
		if !stayed {
			add(cty.NilVal, after[j])
		}
	}
	return parts, action
}

func fingerprints(vs []cty.Value) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = fingerprint(v)
	}
	return out
}

// at is an element, or nothing for -1.
func at(vs []cty.Value, i int) cty.Value {
	if i < 0 {
		return cty.NilVal
	}
	return vs[i]
}

// get is an element, or nothing past the end.
func get(vs []cty.Value, i int) cty.Value {
	if i >= len(vs) {
		return cty.NilVal
	}
	return vs[i]
}

func elementsOf(v cty.Value) map[string]cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	if v.Type().IsObjectType() && !v.IsMarked() {
		return value.Attributes(v)
	}
	return v.AsValueMap()
}

func sliceOf(v cty.Value) []cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.AsValueSlice()
}

func keys(before, after map[string]cty.Value) []string {
	var out []string
	for key := range before {
		out = append(out, key)
	}
	for key := range after {
		if _, both := before[key]; !both {
			out = append(out, key)
		}
	}
	sort.Strings(out)
	return out
}
