package contract

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// IgnoreChanges puts the prior value in place of the configured one at each
// of the paths. A path that ends in a key of a map keeps that key as it was,
// also when it was absent. Paths that lead through a null or through
// something that isn't there have no effect, and nothing has when the prior
// value is null: what isn't created yet can't have changed.
//
// It is also used on plans of the old SDK, which may bring ignored changes
// back.
func IgnoreChanges(prior, config cty.Value, paths []cty.Path) cty.Value {
	if missing(prior) || missing(config) || len(paths) == 0 {
		return config
	}
	root := &ignored{}
	for _, path := range paths {
		root.add(path)
	}
	return root.apply(prior, config)
}

// IgnoreAllChanges is IgnoreChanges for the keyword `all`: the prior object in
// the form of a configuration, without what only the provider sets.
func IgnoreAllChanges(b *schema.Block, prior, config cty.Value) cty.Value {
	if missing(prior) {
		return config
	}
	return eraseAttributes(b, prior, func(a *schema.Attribute) bool { return a.Computed && !a.Optional })
}

// ignored is a tree of paths, so that many of them cost one walk.
type ignored struct {
	whole bool
	below map[any]*ignored // by attribute name, or by index as keyText
	steps []cty.PathStep
}

func (t *ignored) add(path cty.Path) {
	if len(path) == 0 {
		t.whole = true
		return
	}
	key := stepKey(path[0])
	if t.below == nil {
		t.below = make(map[any]*ignored)
	}
	next := t.below[key]
	if next == nil {
		next = &ignored{}
		t.below[key] = next
		t.steps = append(t.steps, path[0])
	}
	next.add(path[1:])
}

type indexKey string

func stepKey(step cty.PathStep) any {
	switch s := step.(type) {
	case cty.GetAttrStep:
		return s.Name
	case cty.IndexStep:
		return indexKey(keyText(s.Key))
	}
	return nil
}

func (t *ignored) apply(prior, config cty.Value) cty.Value {
	if t.whole {
		return prior
	}
	if !config.IsKnown() || !prior.IsKnown() {
		return config
	}
	ty := config.Type()
	switch {
	case ty.IsObjectType() && known(config) && known(prior):
		values := config.AsValueMap()
		for _, step := range t.steps {
			name, ok := memberName(step)
			old := part(prior, name)
			if c, has := values[name]; ok && has && old != cty.NilVal {
				values[name] = t.below[stepKey(step)].apply(old, c)
			}
		}
		return cty.ObjectVal(values)
	case ty.IsMapType() && (prior.Type().IsMapType() || prior.Type().IsObjectType()):
		return t.applyMap(prior, config)
	case (ty.IsListType() || ty.IsTupleType()) && known(config) && known(prior) && !prior.Type().IsSetType():
		values, olds := config.AsValueSlice(), slice(prior)
		for _, step := range t.steps {
			i, ok := memberIndex(step)
			if ok && i < len(values) && i < len(olds) {
				values[i] = t.below[stepKey(step)].apply(olds[i], values[i])
			}
		}
		return listLike(config, values)
	}
	return config
}

// applyMap also brings keys back and takes keys away.
func (t *ignored) applyMap(prior, config cty.Value) cty.Value {
	values, olds := elements(config), elements(prior)
	if values == nil {
		values = make(map[string]cty.Value)
	}
	for _, step := range t.steps {
		key, ok := memberName(step)
		if !ok {
			continue
		}
		next := t.below[stepKey(step)]
		old, had := olds[key]
		now, has := values[key]
		switch {
		case next.whole && had:
			values[key] = old
		case next.whole:
			delete(values, key)
		case had && has:
			values[key] = next.apply(old, now)
		}
	}
	if len(values) == 0 && config.IsNull() {
		return config
	}
	return mapLike(config, values)
}

// memberName is the name in an object or the key in a map.
func memberName(step cty.PathStep) (string, bool) {
	switch s := step.(type) {
	case cty.GetAttrStep:
		return s.Name, true
	case cty.IndexStep:
		if known(s.Key) && s.Key.Type() == cty.String {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

func memberIndex(step cty.PathStep) (int, bool) {
	s, ok := step.(cty.IndexStep)
	if !ok || !known(s.Key) || s.Key.Type() != cty.Number {
		return 0, false
	}
	n, accuracy := s.Key.AsBigFloat().Int64()
	return int(n), accuracy == 0 && n >= 0
}

// eraseAttributes makes the chosen attributes null wherever they are.
func eraseAttributes(b *schema.Block, v cty.Value, chosen func(*schema.Attribute) bool) cty.Value {
	return erase(ofBlock(b), v, chosen)
}

func erase(s shape, v cty.Value, chosen func(*schema.Attribute) bool) cty.Value {
	if !known(v) {
		return v
	}
	values := v.AsValueMap()
	for name, a := range s.attributes {
		inner, ok := values[name]
		switch {
		case !ok:
		case chosen(a):
			values[name] = cty.NullVal(inner.Type())
		case a.Nested != nil:
			values[name] = eraseNested(ofObject(a.Nested), a.Nested.Nesting, inner, chosen)
		}
	}
	for name, nested := range s.blocks {
		if inner, ok := values[name]; ok {
			values[name] = eraseNested(ofBlock(nested.Block), nested.Nesting, inner, chosen)
		}
	}
	return cty.ObjectVal(values)
}

func eraseNested(s shape, n schema.Nesting, v cty.Value, chosen func(*schema.Attribute) bool) cty.Value {
	if !known(v) {
		return v
	}
	switch n {
	case schema.List, schema.Set:
		values := slice(v)
		for i, element := range values {
			values[i] = erase(s, element, chosen)
		}
		if n == schema.Set {
			return setLike(v, values)
		}
		return listLike(v, values)
	case schema.Map:
		values := elements(v)
		for key, element := range values {
			values[key] = erase(s, element, chosen)
		}
		return mapLike(v, values)
	}
	return erase(s, v, chosen)
}
