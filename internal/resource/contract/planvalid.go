package contract

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// PlanValid checks that a planned object keeps to the configuration: a
// provider may choose only what is computed and not configured, and may keep
// a prior value that it takes to mean the same as the configured one.
//
// Prior is null for a creation. The errors speak to provider developers.
func PlanValid(b *schema.Block, prior, config, planned cty.Value) []error {
	v := &planCheck{}
	v.block(nil, b, prior, config, planned)
	return v.sorted()
}

type planCheck struct{ problems }

// existence reports whether there is more to check: both values are there.
func (v *planCheck) existence(at *place, config, planned cty.Value) bool {
	switch {
	case planned.IsNull() && !config.IsNull():
		v.addf(at, "planned for absence but config wants existence")
	case config.IsNull() && !planned.IsNull():
		v.addf(at, "planned for existence but config wants absence")
	}
	return !planned.IsNull() && !config.IsNull()
}

func (v *planCheck) block(at *place, b *schema.Block, prior, config, planned cty.Value) {
	if !v.existence(at, config, planned) {
		return
	}
	v.attributes(at, b.Attributes, prior, config, planned)
	for name, nested := range b.Blocks {
		v.nested(at.attr(name), nested, part(prior, name), part(config, name), part(planned, name))
	}
}

const unknownBlock = "must not be unknown itself; set nested attribute values to unknown instead"

func (v *planCheck) nested(at *place, n *schema.NestedBlock, prior, config, planned cty.Value) {
	switch {
	case n.Computed && planned.IsNull() && n.Nesting != schema.Single:
		v.addf(at, "computed blocks must be empty to indicate no blocks, not null")
		return
	case same(planned, config):
		return
	case !config.IsKnown():
		v.addf(at, "planned value %s for unknown dynamic block", dump(planned))
		return
	case n.Computed && config.IsNull():
		return // the provider chooses
	case n.Computed && !planned.IsKnown():
		v.addf(at, "planned unknown value for configured block")
		return
	case !planned.IsKnown():
		v.addf(at, "attribute representing nested block "+unknownBlock)
		return
	}
	switch n.Nesting {
	case schema.List:
		v.list(at, n, prior, config, planned)
	case schema.Map:
		v.mapping(at, n, prior, config, planned)
	case schema.Set:
		if planned.IsNull() {
			v.addf(at, "attribute representing a set of nested blocks must be empty to indicate no blocks, not null")
			return
		}
		// Elements have no names to pair them by, and a plan may mix prior
		// and configured parts into new elements: the provider is trusted.
		for _, element := range slice(planned) {
			v.visible(at.index(element), element)
		}
	default:
		v.block(at, n.Block, prior, config, planned)
	}
}

// visible reports whether the object of a block is known.
func (v *planCheck) visible(at *place, element cty.Value) bool {
	if !element.IsKnown() {
		v.addf(at, "element representing nested block "+unknownBlock)
		return false
	}
	return true
}

func (v *planCheck) list(at *place, n *schema.NestedBlock, prior, config, planned cty.Value) {
	if planned.IsNull() {
		v.addf(at, "attribute representing a list of nested blocks must be empty to indicate no blocks, not null")
		return
	}
	// A null in place of configured blocks was put there by ignore_changes
	// from a prior value of the old SDK; it counts as empty.
	if have, want := count(planned), count(config); have != want {
		v.addf(at, "block count in plan (%d) disagrees with count in config (%d)", have, want)
		return
	}
	ps, cs := slice(prior), slice(config)
	for i, element := range slice(planned) {
		at := at.index(cty.NumberIntVal(int64(i)))
		if !v.visible(at, element) {
			continue
		}
		p := cty.NilVal
		if i < len(ps) {
			p = ps[i]
		}
		v.block(at, n.Block, p, cs[i], element)
	}
}

func (v *planCheck) mapping(at *place, n *schema.NestedBlock, prior, config, planned cty.Value) {
	if planned.IsNull() {
		v.addf(at, "attribute representing a map of nested blocks must be empty to indicate no blocks, not null")
		return
	}
	ps, cs, as := elements(prior), elements(config), elements(planned)
	for key, element := range as {
		c, ok := cs[key]
		if !ok {
			v.addf(at, "block key %q from plan is not present in config", key)
			continue
		}
		at := at.element(key)
		if v.visible(at, element) {
			v.block(at, n.Block, ps[key], c, element)
		}
	}
	v.lost(at, "block", cs, as)
}

// lost reports the configured keys that aren't planned.
func (v *planCheck) lost(at *place, noun string, config, planned map[string]cty.Value) {
	var keys []string
	for key := range config {
		if _, ok := planned[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		v.addf(at, "%s key %q from config is not present in plan", noun, key)
	}
}

func (v *planCheck) attributes(at *place, as map[string]*schema.Attribute, prior, config, planned cty.Value) {
	for name, a := range as {
		v.attribute(at, name, a, part(prior, name), part(config, name), part(planned, name))
	}
}

func (v *planCheck) attribute(up *place, name string, a *schema.Attribute, prior, config, planned cty.Value) {
	switch {
	case same(planned, config):
		return
	case !missing(prior) && !config.IsNull() && same(planned, prior):
		return // the provider takes both to mean the same
	case a.Computed && (!a.Optional || config.IsNull()):
		// A configured value of a computed attribute comes from
		// ignore_changes; that isn't the provider's doing.
		return
	case a.WriteOnly && planned.IsNull():
		return
	}
	at := up.attr(name)
	switch {
	case config.IsNull() && a.Sensitive:
		v.addf(at, "sensitive planned value for a non-computed attribute")
	case config.IsNull():
		v.addf(at, "planned value %s for a non-computed attribute", v.show(a, planned))
	case a.Nested != nil:
		v.object(at, a.Nested, prior, config, planned)
	case missing(prior) && a.Sensitive:
		v.addf(at, "sensitive planned value does not match config value")
	case missing(prior):
		v.addf(at, "planned value %s does not match config value %s", dump(planned), dump(config))
	case a.Sensitive:
		v.addf(at, "sensitive planned value does not match config value nor prior value")
	default:
		v.addf(at, "planned value %s does not match config value %s nor prior value %s", dump(planned), dump(config), dump(prior))
	}
}

// show is the value for a message, without what is sensitive inside it.
func (v *planCheck) show(a *schema.Attribute, value cty.Value) string {
	if a.Nested != nil && hides(a.Nested) {
		return "(with sensitive parts)"
	}
	return dump(value)
}

func hides(o *schema.Object) bool {
	for _, a := range o.Attributes {
		if a.Sensitive || a.Nested != nil && hides(a.Nested) {
			return true
		}
	}
	return false
}

func (v *planCheck) object(at *place, o *schema.Object, prior, config, planned cty.Value) {
	if !v.existence(at, config, planned) {
		return
	}
	if !planned.IsKnown() {
		v.addf(at, "planned unknown for configured value")
		return
	}
	switch o.Nesting {
	case schema.List, schema.Map, schema.Set:
	default:
		v.attributes(at, o.Attributes, prior, config, planned)
		return
	}
	if have, want := planned.Length(), config.Length(); have.Range().Includes(want).RawEquals(cty.False) ||
		o.Nesting != schema.Set && !have.RawEquals(want) {
		v.addf(at, "count in plan (%s) disagrees with count in config (%s)", lengthText(have), lengthText(want))
		return
	}
	switch o.Nesting {
	case schema.List:
		ps, cs := slice(prior), slice(config)
		for i, element := range slice(planned) {
			p := cty.NilVal
			if i < len(ps) {
				p = ps[i]
			}
			v.element(at.index(cty.NumberIntVal(int64(i))), o, p, cs[i], element)
		}
	case schema.Map:
		ps, cs, as := elements(prior), elements(config), elements(planned)
		for key, element := range as {
			if c, ok := cs[key]; ok {
				v.element(at.element(key), o, ps[key], c, element)
			} else {
				v.addf(at, "map key %q from plan is not present in config", key)
			}
		}
		v.lost(at, "map", cs, as)
	}
}

// element checks one object of a nested attribute. A null is only right
// where the configuration has one.
func (v *planCheck) element(at *place, o *schema.Object, prior, config, planned cty.Value) {
	if !same(planned, config) && v.existence(at, config, planned) {
		v.attributes(at, o.Attributes, prior, config, planned)
	}
}

func lengthText(n cty.Value) string {
	if !n.IsKnown() {
		return "unknown"
	}
	return keyText(n)
}
