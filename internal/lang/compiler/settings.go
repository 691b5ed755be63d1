package compiler

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/compiler/literal"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var settingsSchema = syntax.Schema([]string{"required_version", "experiments", "language"},
	"backend:type", "cloud", "state_store:type", "required_providers", "provider_meta:provider", "encryption")

// settings decodes a terraform block. Those of override files replace what
// they name.
func (c *compiler) settings(b *module.Block) {
	content := c.content(b.Body, settingsSchema)
	if attr := content.Attributes["required_version"]; attr != nil {
		product := "terraform"
		if b.IsTofu() {
			product = "opentofu"
		}
		if b.Override {
			c.prog.RequiredVersions = nil
		}
		c.requiredVersion(attr, product)
	}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "backend", "cloud", "state_store":
			if b.Override && len(c.backends) > 0 && c.backends[0].Range.Filename != inner.DefRange.Filename {
				c.backends = nil
			}
			c.backend(inner)
		case "required_providers":
			c.requiredProviders(inner, b.Override)
		case "provider_meta":
			c.providerMeta(inner, b.Override)
		case "encryption":
			c.encryption(inner, b.Override)
		}
	}
}

// requiredVersion keeps a constraint for code that it is meant for, with what is wrong with
// it: another product takes no notice.
func (c *compiler) requiredVersion(attr *hcl.Attribute, product string) {
	var problems diag.List
	text := literal.Reader{Diags: &problems}.Constraint(attr.Expr)
	c.prog.RequiredVersions = append(c.prog.RequiredVersions, &program.VersionConstraint{Product: product, Constraint: text, Problems: problems, Range: attr.Range})
}

var (
	languageSchema   = syntax.Schema([]string{"edition", "experiments"}, "compatible_with")
	compatibleSchema = syntax.Schema([]string{"opentofu"})
)

func (c *compiler) language(b *hcl.Block) {
	content := c.content(b.Body, languageSchema)
	if attr := content.Attributes["edition"]; attr != nil {
		if word := hcl.ExprAsKeyword(attr.Expr); word != "tofu2024" {
			c.diags.Add(diag.Edition.Error(attr.Expr.Range(), "The only language edition is the keyword tofu2024."))
		}
	}
	if attr := content.Attributes["experiments"]; attr != nil {
		exprs, diags := hcl.ExprList(attr.Expr)
		c.hcl(diags)
		for _, e := range exprs {
			if word := hcl.ExprAsKeyword(e); word == "" {
				c.diags.Add(diag.Edition.As("Invalid experiment keyword").Error(e.Range(), "Elements of \"experiments\" must all be keywords representing active experiments."))
			} else {
				c.diags.Add(diag.Edition.As("Unknown experiment keyword").Error(e.Range(), "There is no current experiment with the keyword %q.", word))
			}
		}
	}
	for i, inner := range content.Blocks {
		if i > 0 {
			c.diags.Add(diag.Duplicate.As("Duplicate compatible_with block").Error(inner.DefRange, "This language block already has a compatible_with block at %s.", content.Blocks[0].DefRange))
			continue
		}
		// Entries for other products are theirs to read.
		inside, _, diags := inner.Body.PartialContent(compatibleSchema)
		c.hcl(diags)
		if attr := inside.Attributes["opentofu"]; attr != nil {
			c.requiredVersion(attr, "opentofu")
		}
	}
}

func (c *compiler) backend(b *hcl.Block) {
	backend := &program.Backend{Type: b.Type, Range: b.DefRange}
	if b.Type != "cloud" {
		backend.Type = b.Labels[0]
	}
	if b.Type == "state_store" && c.registry == addr.OpenTofu {
		c.diags.Add(syntax.Invalid.As("Unsupported block type").Error(b.DefRange, "OpenTofu has no state stores of providers. To use weir like Terraform, set WEIR_COMPAT=terraform."))
		return
	}
	if len(c.backends) > 0 {
		first := c.backends[0]
		switch {
		case b.Type == "cloud" && first.Type == "cloud":
			c.diags.Add(diag.Duplicate.As("Duplicate cloud configurations").Error(b.DefRange, "A module may have only one 'cloud' block configuring a cloud backend. A cloud backend was previously configured at %s.", first.Range))
		case b.Type == "state_store" && first.Store != nil:
			c.diags.Add(diag.Duplicate.As("Duplicate state_store configuration").Error(b.DefRange, "A module may have only one 'state_store' block. The state store was previously configured at %s.", first.Range))
		case b.Type == "state_store" || first.Store != nil:
			c.diags.Add(diag.Duplicate.As("Both a state store and another backend are present").Error(b.DefRange, "A module may declare only one of a 'state_store', a 'backend' and a 'cloud' block. The other one is configured at %s.", first.Range))
		case b.Type == "cloud" || first.Type == "cloud":
			c.diags.Add(diag.Duplicate.As("Both a backend and a cloud configuration are present").Error(b.DefRange, "A module may declare either one 'cloud' block or one 'backend' block. The other one is configured at %s.", first.Range))
		default:
			c.diags.Add(diag.Duplicate.As("Duplicate backend configuration").Error(b.DefRange, "A module may have only one backend configuration. The backend was previously configured at %s.", first.Range))
		}
		return
	}
	body := b.Body
	if b.Type == "state_store" {
		if body = c.stateStore(backend, b); body == nil {
			return
		}
	}
	c.backends = append(c.backends, backend)
	c.prog.Backend = backend
	c.later = append(c.later, func() { backend.Config = c.body(body, b.DefRange, &scope{static: true}) })
}

var storeProviderSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"name"}}}}

// stateStore reads the provider block of a state_store block, and returns the arguments of the
// store itself; nil after an error.
func (c *compiler) stateStore(backend *program.Backend, b *hcl.Block) hcl.Body {
	content, rest, diags := b.Body.PartialContent(storeProviderSchema)
	c.hcl(diags)
	switch {
	case diags.HasErrors():
		return nil
	case len(content.Blocks) == 0:
		c.diags.Add(diag.Missing.As("Missing provider block").Error(b.DefRange, "A state_store block needs a provider block, which configures the provider that stores the states."))
		return nil
	case len(content.Blocks) > 1:
		c.diags.Add(diag.Duplicate.As("Duplicate provider block").Error(content.Blocks[1].DefRange, "A state_store block has one provider block. The other one is at %s.", content.Blocks[0].DefRange))
		return nil
	}
	inner := content.Blocks[0]
	store := &program.StateStore{Name: inner.Labels[0]}
	backend.Store = store
	c.later = append(c.later, func() {
		store.Config = c.body(inner.Body, inner.DefRange, &scope{static: true})
		if r := c.prog.Requirements[store.Name]; r != nil {
			store.Provider = r.Provider
			return
		}
		c.diags.Add(diag.Missing.As("Missing entry in required_providers").Error(inner.DefRange, "The provider of a state store needs an entry in required_providers. Add one for %q.", store.Name))
	})
	return rest
}

func (c *compiler) providerMeta(b *hcl.Block, override bool) {
	name := b.Labels[0]
	c.providerLocalName(name, b.LabelRanges[0])
	if first := c.prog.ProviderMeta[name]; first != nil && !override {
		c.diags.Add(diag.Duplicate.As("Duplicate provider_meta block").Error(b.DefRange, "A provider_meta block for provider %q was already declared at %s. Providers may only have one provider_meta block per module.", name, first.Range))
		return
	}
	attrs, diags := b.Body.JustAttributes()
	c.hcl(diags)
	for _, attr := range syntax.InOrder(attrs) {
		_, diags := attr.Expr.Value(nil) // nothing can be referred to
		c.hcl(diags)
	}
	meta := &program.Body{Body: b.Body, Range: b.DefRange}
	c.prog.ProviderMeta[name] = meta
	c.later = append(c.later, func() { *meta = *c.body(b.Body, b.DefRange, noScope) })
}

func (c *compiler) encryption(b *hcl.Block, override bool) {
	if first := c.prog.Encryption; first != nil && !override {
		c.diags.Add(diag.Duplicate.As("Duplicate encryption configuration").Error(b.DefRange, "A module may have only one encryption configuration. Encryption was previously configured at %s.", first.Range))
		return
	} else if first != nil {
		// Override files are merged block by block, which is up to the caller
		// that decodes them.
		first.Body = &syntax.UnionBody{Parts: []hcl.Body{first.Body, b.Body}}
		return
	}
	e := &program.Body{Body: b.Body, Range: b.DefRange}
	c.prog.Encryption = e
	c.later = append(c.later, func() { *e = *c.body(e.Body, e.Range, &scope{names: encryptionNames, static: true}) })
}

// Encryption compiles the body of an encryption block from outside, which may
// refer to what the program declares.
func Encryption(p *program.Program, b hcl.Body, at hcl.Range) (*program.Body, diag.List) {
	c := &compiler{prog: p, functions: map[string]*program.ProviderFunction{}}
	body := c.body(b, at, &scope{names: encryptionNames, static: true})
	return body, c.diags
}

// encryptionNames are objects that an encryption block declares itself.
var encryptionNames = []string{"key_provider", "method"}

// requiredProviders declares the providers of a required_providers block.
func (c *compiler) requiredProviders(b *hcl.Block, override bool) {
	if c.required != nil && !override {
		c.diags.Add(diag.Duplicate.As("Duplicate required providers configuration").Error(b.DefRange, "A module may have only one required providers configuration. The required providers were previously configured at %s.", *c.required))
		return
	}
	if c.required == nil {
		c.required = &b.DefRange
	}
	attrs, diags := b.Body.JustAttributes()
	c.hcl(diags)
	for _, attr := range syntax.InOrder(attrs) {
		if !c.providerLocalName(attr.Name, attr.NameRange) {
			continue
		}
		r := &program.Requirement{LocalName: attr.Name, Provider: c.registry.Provider(attr.Name), Range: attr.Range}
		pairs, pairDiags := hcl.ExprMap(attr.Expr)
		if pairDiags.HasErrors() {
			v, diags := attr.Expr.Value(nil)
			if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
				c.diags.Add(BadRequirements.Error(attr.Expr.Range(), "required_providers entries must be strings or objects."))
				continue
			}
			r.Constraints = c.literal().Constraint(attr.Expr)
		}
		for _, pair := range pairs {
			c.requirementArgument(r, pair)
		}
		c.prog.Requirements[attr.Name] = r
	}
}

func (c *compiler) requirementArgument(r *program.Requirement, pair hcl.KeyValuePair) {
	key, diags := pair.Key.Value(nil)
	if diags.HasErrors() || key.IsNull() || key.Type() != cty.String {
		c.diags.Add(diag.NoAttribute.As("Invalid Attribute").Error(pair.Key.Range(), "Invalid attribute value for provider requirement: a name is expected."))
		return
	}
	switch key.AsString() {
	case "version":
		r.Constraints = c.literal().Constraint(pair.Value)
	case "source":
		v, diags := pair.Value.Value(nil)
		if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
			c.diags.Add(diag.BadSource.As("Invalid source").Error(pair.Value.Range(), "Source must be specified as a string."))
			return
		}
		p, err := c.registry.ParseSource(v.AsString())
		if err != nil {
			c.diags.Add(BadRequirements.As("Invalid provider source string").Error(pair.Value.Range(), "The source of provider %q is not valid: %s.", r.LocalName, err))
			return
		}
		r.Provider = p
	case "configuration_aliases":
		c.aliases(r, pair.Value)
	case "//":
	default:
		c.diags.Add(BadRequirements.Error(pair.Key.Range(), `required_providers objects can only contain "version", "source" and "configuration_aliases" attributes. To configure a provider, use a "provider" block.`))
	}
}

func (c *compiler) aliases(r *program.Requirement, expr hcl.Expression) {
	exprs, diags := hcl.ExprList(expr)
	c.hcl(diags)
	for _, e := range exprs {
		t, diags := hcl.AbsTraversalForExpr(e)
		if diags.HasErrors() || len(t) > 2 {
			c.diags.Add(BadRequirements.As("Invalid configuration_aliases value").Error(e.Range(), "Configuration aliases can only contain references to local provider configuration names in the format of provider.alias."))
			continue
		}
		if t.RootName() != r.LocalName {
			c.diags.Add(BadRequirements.As("Invalid configuration_aliases value").Error(e.Range(), "Configuration aliases must be prefixed with the provider name. Expected %q, but found %q.", r.LocalName, t.RootName()))
			continue
		}
		alias := "" // the default configuration, which callers then have to pass
		if len(t) == 2 {
			attr, ok := t[1].(hcl.TraverseAttr)
			if !ok {
				c.diags.Add(BadRequirements.As("Invalid configuration_aliases value").Error(e.Range(), "Configuration aliases can only contain references to local provider configuration names in the format of provider.alias."))
				continue
			}
			alias = attr.Name
		}
		r.Aliases = append(r.Aliases, alias)
	}
}
