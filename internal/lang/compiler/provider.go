package compiler

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var providerSchema = syntax.Schema([]string{"version", "alias", "for_each", "count", "depends_on", "source"}, "_", "lifecycle", "locals")

// provider declares a provider configuration.
func (c *compiler) provider(b *hcl.Block) {
	p := &program.Provider{LocalName: b.Labels[0], Range: b.DefRange}
	if !c.providerLocalName(p.LocalName, b.LabelRanges[0]) {
		return
	}
	content, rest := c.split(b.Body, providerSchema)
	attrs := content.Attributes
	if attr := attrs["alias"]; attr != nil {
		p.Alias = c.literal().String(attr)
		if !hclsyntax.ValidIdentifier(p.Alias) {
			c.diags.Add(diag.BadProvider.As("Invalid provider configuration alias").Error(attr.Expr.Range(), "An alias must be a valid name. "+identifierRule))
		}
	}
	if attr := attrs["version"]; attr != nil {
		c.diags.Add(diag.Outdated.As("Version constraints inside provider configuration blocks are deprecated").Warning(attr.NameRange, "Move the version constraint into the required_providers block."))
		p.Version = c.literal().Constraint(attr.Expr)
	}
	for _, name := range []string{"count", "depends_on", "source"} {
		if attr := attrs[name]; attr != nil {
			c.diags.Add(diag.BadName.As("Reserved argument name in provider block").Error(attr.NameRange, "The provider argument name %q is reserved for use by the language.", name))
		}
	}
	each := attrs["for_each"]
	if each != nil && p.Alias == "" {
		c.diags.Add(diag.BadProvider.As(`Alias required when using "for_each"`).Error(each.NameRange, "The for_each argument is allowed only for provider configurations with an alias."))
	}
	var escape *hcl.Block
	for _, inner := range content.Blocks {
		if inner.Type == "_" {
			rest = c.escape(rest, inner, escape)
			escape = inner
			continue
		}
		c.diags.Add(diag.BadName.As("Reserved block type name in provider block").Error(inner.TypeRange, "The block type name %q is reserved for use by the language.", inner.Type))
	}
	name := program.ProviderName{Local: p.LocalName, Alias: p.Alias}
	if first := c.providers[name]; first != nil {
		c.duplicateProvider(p, first)
		return
	}
	if each != nil {
		p.ForEach = &program.Expr{Expression: each.Expr}
	}
	p.Index = len(c.prog.Providers)
	c.prog.Providers = append(c.prog.Providers, p)
	c.providers[name] = p
	c.later = append(c.later, func() {
		if p.ForEach != nil {
			p.ForEach = c.expr(p.ForEach.Expression, &scope{static: true})
		}
		p.Config = c.body(rest, p.Range, &scope{each: p.ForEach != nil})
	})
}

func (c *compiler) duplicateProvider(p, first *program.Provider) {
	if p.Alias == "" {
		c.diags.Add(diag.Duplicate.As("Duplicate provider configuration").Error(p.Range, "A default (non-aliased) provider configuration for %q was already given at %s. If multiple configurations are required, set the \"alias\" argument for alternative configurations.", p.LocalName, first.Range))
		return
	}
	c.diags.Add(diag.Duplicate.As("Duplicate provider configuration").Error(p.Range, "A provider configuration for %q with alias %q was already given at %s. Each configuration for the same provider must have a distinct alias.", p.LocalName, p.Alias, first.Range))
}

// providerLocalName checks the name that a module has for a provider.
func (c *compiler) providerLocalName(name string, at hcl.Range) bool {
	if !hclsyntax.ValidIdentifier(name) || strings.Contains(name, "_") || strings.HasSuffix(name, "-") {
		c.diags.Add(diag.BadProvider.As("Invalid provider local name").Error(at, "%q is an invalid provider local name: it must be made of letters, digits and dashes, which don't stand at either end.", name))
		return false
	}
	if lower := strings.ToLower(name); lower != name {
		c.diags.Add(diag.BadProvider.As("Invalid provider local name").Error(at, "Provider names must be normalized. Replace %q with %q to fix this error.", name, lower))
		return false
	}
	return true
}

// A providerRefExpr is a reference to a provider configuration as written.
type providerRefExpr struct {
	program.ProviderName
	key hcl.Expression
}

// providerRef reads NAME, NAME.ALIAS or NAME.ALIAS[KEY].
func (c *compiler) providerRef(expr hcl.Expression, argument string) (ref providerRefExpr, ok bool) {
	if key, isKey := expr.(*hclsyntax.ObjectConsKeyExpr); isKey {
		expr = key.Wrapped
	}
	expr = c.literal().Unquote(expr, "references")
	at := expr.Range()
	if template, isTemplate := expr.(*hclsyntax.TemplateExpr); isTemplate && template.IsStringLiteral() {
		c.diags.Add(diag.BadProvider.Error(at, "A provider configuration reference must not be given in quotes."))
		return ref, false
	}
	if s, isString := expr.(*syntax.StringExpr); isString && strings.Contains(s.Text, "[") {
		if inner, problems := s.AsExpression(); !problems.HasErrors() {
			expr = inner
		}
	}
	if index, isIndex := expr.(*hclsyntax.IndexExpr); isIndex {
		ref.key = index.Key
		expr = index.Collection
	}
	t, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		c.diags.Add(diag.BadProvider.Error(at, "The %s argument requires a provider type name, optionally followed by a period and then a configuration alias and optional instance key.", argument))
		return ref, false
	}
	if n := len(t); n > 1 && ref.key == nil {
		if index, isIndex := t[n-1].(hcl.TraverseIndex); isIndex {
			ref.key = &hclsyntax.LiteralValueExpr{Val: index.Key, SrcRange: index.SrcRange}
			t = t[:n-1]
		}
	}
	ref.Local = t.RootName()
	if !c.providerLocalName(ref.Local, at) {
		return ref, false
	}
	if len(t) == 2 {
		if attr, isAttr := t[1].(hcl.TraverseAttr); isAttr {
			ref.Alias = attr.Name
			return ref, true
		}
	}
	if len(t) > 1 {
		c.diags.Add(diag.BadProvider.Error(at, "Provider name must either stand alone or be followed by a period and then a configuration alias."))
		return ref, false
	}
	if ref.key != nil {
		c.diags.Add(diag.BadProvider.Error(at, "Provider assignment requires an alias when specifying an instance key, in the form of provider.name[instance_key]."))
		return ref, false
	}
	return ref, true
}

// providerUse decodes a provider argument; without one the provider follows
// from the type.
func (c *compiler) providerUse(use *program.ProviderUse, attr *hcl.Attribute, typ string, at hcl.Range) {
	*use = program.ProviderUse{LocalName: addr.ImpliedProvider(typ), Range: at}
	if attr != nil {
		if ref, ok := c.providerRef(attr.Expr, "provider"); ok {
			*use = program.ProviderUse{LocalName: ref.Local, Alias: ref.Alias, Explicit: true, Range: attr.Expr.Range()}
		}
	}
	c.uses = append(c.uses, use)
}

// providerKey compiles the key of a provider argument.
func (c *compiler) providerKey(use *program.ProviderUse, attr *hcl.Attribute, in *scope) {
	before := len(c.diags)
	ref, ok := c.providerRef(attr.Expr, "provider")
	c.diags = c.diags[:before] // reported when it was declared
	if ok && ref.key != nil {
		use.Key = c.expr(ref.key, in)
	}
}

// resolveProviders finds the provider behind each local name. Names that no
// required_providers block has get an implied requirement.
func (c *compiler) resolveProviders() {
	for _, p := range c.prog.Providers {
		p.Provider = c.requirement(p.LocalName, p.Range)
	}
	for _, use := range c.uses {
		use.Provider = c.requirement(use.LocalName, use.Range)
		c.checkUse(use)
	}
	c.resolveFunctions()
	for name := range c.prog.ProviderMeta {
		c.requirement(name, c.prog.ProviderMeta[name].Range)
	}
}

// resolveFunctions finds the providers behind the functions that are called.
func (c *compiler) resolveFunctions() {
	for _, f := range c.prog.Functions {
		if f.Provider != (addr.Provider{}) {
			continue // runs of tests share it
		}
		if c.prog.Requirements[f.LocalName] == nil && f.LocalName != "terraform" {
			before := len(c.diags)
			c.diags.Add(BadFunction.Error(f.Range, "Provider %q isn't among the required_providers of this module, so nobody knows whose function %q is. Add an entry for it.", f.LocalName, f.Full))
			c.used(before, noScope)
			continue
		}
		f.Provider = c.requirement(f.LocalName, f.Range)
	}
	c.prog.Functions = slices.DeleteFunc(c.prog.Functions, func(f *program.ProviderFunction) bool { return f.Provider == addr.Provider{} })
}

func (c *compiler) requirement(local string, at hcl.Range) addr.Provider {
	r := c.prog.Requirements[local]
	if r == nil {
		r = &program.Requirement{LocalName: local, Provider: c.registry.Provider(local), Implied: true, Range: at}
		c.prog.Requirements[local] = r
	}
	return r.Provider
}

// checkUse checks a reference to a configuration. In a module the one with the
// alias may come from the caller, declared or not: evaluation finds out.
func (c *compiler) checkUse(use *program.ProviderUse) {
	p := c.providers[program.ProviderName{Local: use.LocalName, Alias: use.Alias}]
	switch {
	case c.stack && p == nil && use.Alias != "" && !c.prog.Requirements[use.LocalName].HasAlias(use.Alias):
		c.diags.Add(diag.UndeclaredProvider.As("Provider configuration not present").Error(use.Range, "There is no provider %q block named %q in this stack.", use.LocalName, use.Alias))
	case use.Key != nil && (p == nil || p.ForEach == nil):
		c.diags.Add(diag.BadProviderKey.Error(use.Range, "An instance key can be specified only for a provider configuration that uses for_each, and provider %q with alias %q doesn't.", use.LocalName, use.Alias))
	case use.Key == nil && p != nil && p.ForEach != nil:
		c.diags.Add(diag.BadProviderKey.As("Missing provider instance key").Error(use.Range, "A reference to a provider configuration which uses for_each requires an instance key, as in %s.%s[each.key].", use.LocalName, use.Alias))
	}
}
