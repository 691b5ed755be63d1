package jsonconfig

import (
	"maps"
	"slices"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/schema"
)

// providerConfigs notes the provider configurations that begin in a module:
// those it declares and those that nobody passes to it.
func (w *writer) providerConfigs(at *place) {
	p := at.tree.Program
	constraints := func(name string) string {
		if r := p.Requirements[name]; r != nil {
			return r.Constraints
		}
		return ""
	}
	for _, c := range p.Providers {
		var block *schema.Block
		if all := w.schemas[c.Provider]; all != nil && all.Provider != nil {
			block = all.Provider.Block
		}
		w.providers[at.key(c.LocalName, c.Alias)] = &providerConfig{
			Name: c.LocalName, FullName: c.Provider.String(), Alias: c.Alias,
			Constraint: constraints(c.LocalName), Module: at.path, Expressions: body(c.Config, block),
		}
	}
	note := func(name, alias string, provider addr.Provider) {
		key := at.providerKey(name, alias, provider)
		if key != at.key(name, alias) || w.providers[key] != nil {
			return
		}
		w.providers[key] = &providerConfig{Name: name, FullName: provider.String(), Alias: alias, Constraint: constraints(name), Module: at.path}
	}
	for name, r := range p.Requirements {
		note(name, "", r.Provider)
		for _, alias := range r.Aliases {
			note(name, alias, r.Provider)
		}
	}
	for _, r := range p.Resources {
		note(r.Provider.LocalName, r.Provider.Alias, r.Provider.Provider)
	}
}

// key names a provider configuration across modules.
func (at *place) key(name, alias string) string {
	if alias != "" {
		name += "." + alias
	}
	if at.path == "" {
		return name
	}
	return at.path + ":" + name
}

// providerKey follows a provider configuration to the module that it comes
// from.
func (at *place) providerKey(name, alias string, provider addr.Provider) string {
	for {
		outerName, outerAlias, ok := at.passed(name, alias, provider)
		if !ok {
			return at.key(name, alias)
		}
		at, name, alias = at.parent, outerName, outerAlias
	}
}

// passed finds what a configuration is called in the calling module. It
// answers false when it doesn't come from there.
func (at *place) passed(name, alias string, provider addr.Provider) (string, string, bool) {
	if at.parent == nil || at.declares(name, alias) {
		return "", "", false
	}
	for _, p := range at.call.Providers {
		if p.LocalName == name && p.Alias == alias {
			return p.Outer.LocalName, p.Outer.Alias, true
		}
	}
	if alias != "" {
		return "", "", false
	}
	outer := at.parent.tree.Program
	if r := outer.Requirements[name]; r != nil && r.Provider == provider {
		return name, "", true
	}
	for _, other := range slices.Sorted(maps.Keys(outer.Requirements)) {
		if outer.Requirements[other].Provider == provider {
			return other, "", true
		}
	}
	// The calling module doesn't mention the provider; an ancestor may.
	if inherits(at.parent, provider) {
		return name, "", true
	}
	return "", "", false
}

func (at *place) declares(name, alias string) bool {
	for _, c := range at.tree.Program.Providers {
		if c.LocalName == name && c.Alias == alias {
			return true
		}
	}
	return false
}

// inherits reports whether a module or one above it requires the provider.
func inherits(at *place, provider addr.Provider) bool {
	for ; at != nil; at = at.parent {
		for _, r := range at.tree.Program.Requirements {
			if r.Provider == provider {
				return true
			}
		}
	}
	return false
}

// dependsOn lists what references name, without what follows.
func dependsOn(refs []*program.Ref) []string {
	var out []string
	for _, r := range refs {
		names, _ := subject(r)
		out = append(out, names[0])
	}
	return out
}
