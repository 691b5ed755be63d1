package jsonconfig

import (
	"maps"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/version"
)

// providerConfigs notes the provider configurations that a module has: those
// it declares, those it requires, and those that its resources imply under the
// names of their types.
func (w *writer) providerConfigs(at *place) {
	p := at.tree.Program
	constraints := constraintsOf(p)
	for _, c := range p.Providers {
		var block *schema.Block
		if all := w.schemas[c.Provider]; all != nil && all.Provider != nil {
			block = all.Provider.Block
		}
		w.providers[at.key(c.LocalName, c.Alias)] = &providerConfig{
			Name: c.LocalName, FullName: c.Provider.String(), Alias: c.Alias,
			Constraint: constraints[c.Provider], Module: at.path, Expressions: body(c.Config, block),
		}
	}
	note := func(key, name string, provider addr.Provider, inherits bool) {
		if w.providers[key] != nil {
			return
		}
		c := &providerConfig{Name: name, FullName: provider.String(), Constraint: constraints[provider], Module: at.path}
		if inherits && at.parent != nil {
			c.source = w.source(at.parent.key(name, ""), c.FullName)
		}
		w.providers[key] = c
	}
	for _, name := range slices.Sorted(maps.Keys(p.Requirements)) {
		r := p.Requirements[name]
		if r.Implied {
			continue
		}
		for _, alias := range r.Aliases {
			note(at.key(name, alias), name, r.Provider, false)
		}
		note(at.key(name, ""), name, r.Provider, true)
	}
	for provider := range constraints {
		note(at.key(provider.Type, ""), provider.Type, provider, true)
	}
}

// constraintsOf has the providers that a module requires, or whose resources,
// imports or configurations it has, with what it demands of their versions.
func constraintsOf(p *program.Program) map[addr.Provider]string {
	all := map[addr.Provider]version.Constraints{}
	add := func(provider addr.Provider, text string) {
		// Constraints that can't be read were reported before.
		c, _ := version.ParseConstraints(text)
		all[provider] = all[provider].And(c)
	}
	for _, r := range p.Requirements {
		if !r.Implied {
			add(r.Provider, r.Constraints)
		}
	}
	for _, r := range p.Resources {
		add(r.Provider.Provider, "")
	}
	for _, i := range p.Imports {
		if provider := importedBy(p, i); provider != (addr.Provider{}) {
			add(provider, "")
		}
	}
	for _, c := range p.Providers {
		add(c.Provider, c.Version)
	}
	out := make(map[addr.Provider]string, len(all))
	for provider, c := range all {
		out[provider] = c.String()
	}
	return out
}

// importedBy is the provider of an import, which follows from the type where
// the block doesn't say. It is zero where nothing else in the module has that
// provider.
func importedBy(p *program.Program, i *program.Import) addr.Provider {
	if i.Provider.Explicit {
		return i.Provider.Provider
	}
	if r := p.Requirements[addr.ImpliedProvider(i.To.Name.Type)]; r != nil {
		return r.Provider
	}
	return addr.Provider{}
}

// passed notes the configurations that a call passes to the module at a place.
func (w *writer) passed(at *place, c *program.Call) {
	for _, p := range c.Providers {
		provider := p.Outer.Provider
		if r := at.tree.Program.Requirements[p.LocalName]; r != nil {
			provider = r.Provider
		}
		name := p.LocalName
		if p.Alias != "" {
			name += "." + p.Alias
		}
		w.providers[at.key(p.LocalName, p.Alias)] = &providerConfig{
			Name: name, FullName: provider.String(), Module: at.path,
			source: w.source(at.parent.key(p.Outer.LocalName, p.Outer.Alias), provider.String()),
		}
	}
}

// source follows a configuration of a provider to where it begins. It is empty
// where nobody above has one.
func (w *writer) source(key, fullName string) string {
	found := ""
	for key != "" {
		c := w.providers[key]
		if c == nil || c.FullName != fullName {
			break
		}
		found, key = key, c.source
	}
	return found
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

// providerKey is the key of the configuration that a name stands for.
func (w *writer) providerKey(at *place, name, alias string) string {
	key := at.key(name, alias)
	if c := w.providers[key]; c != nil && w.providers[c.source] != nil {
		return c.source
	}
	return key
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
