package contract

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// ProposedNew merges the prior object with the configuration into what the
// engine proposes to the provider: arguments as configured, and what only the
// provider can choose as it was before.
//
// The prior value is wholly known or null. With a null prior, attributes that
// the provider computes are null in the proposal; the provider makes them
// unknown or chooses a value in its plan.
func ProposedNew(b *schema.Block, prior, config cty.Value) cty.Value {
	return propose(ofBlock(b), prior, config)
}

// PlannedDataObject is what is known of the result of a data source or an
// ephemeral resource before it is read: the configuration, with unknown
// values where the provider fills in.
func PlannedDataObject(b *schema.Block, config cty.Value) cty.Value {
	return propose(ofBlock(b), cty.UnknownVal(b.ImpliedType()), config)
}

func propose(s shape, prior, config cty.Value) cty.Value {
	if config.IsNull() {
		if s.block && !missing(prior) {
			return prior
		}
		return config
	}
	if !config.IsKnown() {
		return config
	}
	values := make(map[string]cty.Value, len(s.attributes)+len(s.blocks))
	for name, a := range s.attributes {
		values[name] = proposeAttribute(a, part(prior, name), config.GetAttr(name))
	}
	for name, nested := range s.blocks {
		p, c := part(prior, name), config.GetAttr(name)
		if nested.Nesting == schema.Single && c.IsNull() {
			values[name] = c
			continue
		}
		values[name] = proposeNested(ofBlock(nested.Block), nested.Nesting, p, c)
	}
	return cty.ObjectVal(values)
}

func proposeAttribute(a *schema.Attribute, prior, config cty.Value) cty.Value {
	switch {
	case a.Computed && config.IsNull():
		if prior == cty.NilVal || a.Optional && a.Nested != nil && wasConfigured(a.Nested, prior) {
			return config
		}
		return prior
	case a.Nested != nil && config.IsKnown() && !config.IsNull():
		return proposeNested(ofObject(a.Nested), a.Nested.Nesting, prior, config)
	}
	return config
}

// wasConfigured reports whether something in the value can only have come
// from a configuration, so that removing the argument is a change.
func wasConfigured(o *schema.Object, v cty.Value) bool {
	if !known(v) {
		return false
	}
	if o.Nesting == schema.Single || o.Nesting == schema.Group {
		return anyConfigured(o, v)
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, element := it.Element(); anyConfigured(o, element) {
			return true
		}
	}
	return false
}

func anyConfigured(o *schema.Object, v cty.Value) bool {
	if !known(v) {
		return false
	}
	for name, a := range o.Attributes {
		inner := part(v, name)
		if missing(inner) {
			continue
		}
		if !a.Computed || a.Nested != nil && wasConfigured(a.Nested, inner) {
			return true
		}
	}
	return false
}

func proposeNested(s shape, n schema.Nesting, prior, config cty.Value) cty.Value {
	if !config.IsKnown() {
		return config
	}
	if n == schema.Single || n == schema.Group {
		return propose(s, prior, config)
	}
	if config.IsNull() {
		return config
	}
	// Anything that can't be seen of a prior collection holds for each of its elements.
	inherited := cty.NilVal
	if prior != cty.NilVal && !prior.IsKnown() {
		inherited = cty.DynamicVal
	}
	switch n {
	case schema.List:
		old := slice(prior)
		var out []cty.Value
		for i, element := range slice(config) {
			p := inherited
			if i < len(old) {
				p = old[i]
			}
			out = append(out, proposeElement(s, p, element))
		}
		return listLike(config, out)
	case schema.Map:
		old := elements(prior)
		out := make(map[string]cty.Value, len(old))
		for key, element := range elements(config) {
			p, ok := old[key]
			if !ok {
				p = inherited
			}
			out[key] = proposeElement(s, p, element)
		}
		return mapLike(config, out)
	case schema.Set:
		return proposeSet(s, prior, inherited, config)
	}
	return config
}

// proposeElement is propose for an element, of whose type an unknown prior reports nothing.
func proposeElement(s shape, prior, config cty.Value) cty.Value {
	if known(config) && prior != cty.NilVal && !prior.IsKnown() {
		prior = cty.UnknownVal(config.Type())
	}
	return propose(s, prior, config)
}

// proposeSet pairs each configured element with the first prior element that
// it can have led to; each prior element is used once.
func proposeSet(s shape, prior, inherited, config cty.Value) cty.Value {
	var names []string
	for name, a := range s.attributes {
		if !a.Computed && a.Nested == nil {
			names = append(names, name)
		}
	}
	old := make(map[int][]cty.Value)
	for _, element := range slice(prior) {
		key := keyed(names, element)
		old[key] = append(old[key], element)
	}
	var out []cty.Value
	for _, element := range slice(config) {
		p := inherited
		key := keyed(names, element)
		for i, candidate := range old[key] {
			if couldComeFrom(s, candidate, element) {
				p = candidate
				old[key] = append(old[key][:i:i], old[key][i+1:]...)
				break
			}
		}
		out = append(out, proposeElement(s, p, element))
	}
	return setLike(config, out)
}

// couldComeFrom reports whether the prior object differs from the configuration only in what the
// provider computes. As OpenTofu and Terraform do, it asks only of what the prior object has: nested
// objects may come in addition, and one that the configuration lacks is never the provider's.
func couldComeFrom(s shape, prior, config cty.Value) bool {
	if same(prior, config) || !known(prior) {
		return true
	}
	if missing(config) {
		return false
	}
	for name, a := range s.attributes {
		p, c := part(prior, name), part(config, name)
		switch {
		case same(p, c):
		case c.Type().IsSetType():
			return false // even where the provider computes it
		case a.Nested != nil:
			if !nestedCouldComeFrom(ofObject(a.Nested), a.Nested.Nesting, p, c) {
				return false
			}
		case !a.Computed || !c.IsNull():
			return false
		}
	}
	for name, nested := range s.blocks {
		if !nestedCouldComeFrom(ofBlock(nested.Block), nested.Nesting, part(prior, name), part(config, name)) {
			return false
		}
	}
	return true
}

func nestedCouldComeFrom(s shape, n schema.Nesting, prior, config cty.Value) bool {
	switch n {
	case schema.Set:
		return same(prior, config)
	case schema.List:
		now := slice(config)
		for i, element := range slice(prior) {
			if i >= len(now) || !couldComeFrom(s, element, now[i]) {
				return false
			}
		}
		return true
	case schema.Map:
		now := elements(config)
		for key, element := range elements(prior) {
			if c, ok := now[key]; !ok || !couldComeFrom(s, element, c) {
				return false
			}
		}
		return true
	}
	return couldComeFrom(s, prior, config)
}
