package compiler

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var (
	movedSchema            = syntax.Schema([]string{"from!", "to!", "for_each"})
	removedSchema          = syntax.Schema([]string{"from!"}, "lifecycle", "provisioner:type", "connection")
	removedLifecycleSchema = syntax.Schema([]string{"destroy"})
	importSchema           = syntax.Schema([]string{"to!", "id", "identity", "for_each", "provider"})
)

// endpoint reads an object that a moved or removed block names, with constant
// keys.
func (c *compiler) endpoint(attr *hcl.Attribute) (e program.Endpoint, ok bool) {
	if attr == nil {
		return e, false
	}
	e.Range = attr.Expr.Range()
	t, diags := hcl.AbsTraversalForExpr(c.literal().Unquote(attr.Expr, "references"))
	if diags.HasErrors() {
		c.hcl(diags)
		return e, false
	}
	e, _, ok = c.ends(e, traversalSteps(t), nil)
	return e, ok
}

// movedEnd reads an end of a moved block, whose keys may be expressions.
func (c *compiler) movedEnd(attr *hcl.Attribute, in *scope) (e program.Endpoint, keys []*program.Expr, ok bool) {
	if attr == nil {
		return e, nil, false
	}
	if _, diags := hcl.AbsTraversalForExpr(attr.Expr); diags.HasErrors() {
		if steps, ok := addressSteps(attr.Expr); ok {
			e.Range = attr.Expr.Range()
			return c.ends(e, steps, in)
		}
	}
	e, ok = c.endpoint(attr)
	return e, nil, ok
}

// ends makes an end of the steps of its address. Computed keys are allowed
// where there is a scope for them.
func (c *compiler) ends(e program.Endpoint, steps []addressStep, in *scope) (end program.Endpoint, keys []*program.Expr, ok bool) {
	a, problem := parseAddress(steps)
	if problem == "" && a.Rest > 0 {
		problem = "An address ends with the name of a resource or its instance key; there can be no attributes behind it."
	}
	if problem != "" {
		c.diags.Add(diag.BadReference.As("Invalid address").Error(e.Range, "%s", problem))
		return e, nil, false
	}
	bad := false
	keyAt := func(n int, expr hcl.Expression) addr.Key {
		key, computed := constantKey(expr)
		switch {
		case computed && in == nil:
			bad = true
		case computed:
			if keys == nil {
				keys = make([]*program.Expr, len(a.Modules)+1)
			}
			keys[n], key = c.expr(expr, in), addr.AnyKey
		}
		return key
	}
	var modules []addr.Step
	for i, m := range a.Modules {
		modules = append(modules, addr.Step{Call: addr.Mod(m), Key: keyAt(i, a.ModuleKeys[i])})
	}
	e.Module, e.Name, e.Key = addr.FromSteps(modules), a.Name, keyAt(len(a.Modules), a.Key)
	if bad {
		c.diags.Add(diag.BadReference.As("Invalid address").Error(e.Range, "An instance key must be a constant string or whole number."))
		return e, nil, false
	}
	return e, keys, true
}

func (c *compiler) moved(b *hcl.Block) {
	content := c.content(b.Body, movedSchema)
	m := &program.Moved{Range: b.DefRange}
	c.later = append(c.later, func() { c.resolveMoved(m, content) })
}

// resolveMoved reads the ends of a moved block when the declarations are known
// that its keys may refer to.
func (c *compiler) resolveMoved(m *program.Moved, content *hcl.BodyContent) {
	repeat := content.Attributes["for_each"]
	m.ForEach = c.attribute(repeat, noScope)
	in := &scope{each: repeat != nil}
	from, fromKeys, ok := c.movedEnd(content.Attributes["from"], in)
	to, toKeys, ok2 := c.movedEnd(content.Attributes["to"], in)
	if !ok || !ok2 {
		return
	}
	m.From, m.To, m.FromKeys, m.ToKeys = from, to, fromKeys, toKeys
	for _, end := range []struct {
		name string
		program.Endpoint
	}{{"from", from}, {"to", to}} {
		if end.Name.Mode == addr.Ephemeral || from.Name.Mode != to.Name.Mode && end.Name.Mode == addr.Data {
			c.diags.Add(diag.BadMoved.Error(end.Range, "The resource referenced by the %q attribute is not allowed to be moved: it isn't a managed resource.", end.name))
			return
		}
	}
	if (from.Name == addr.Name{}) != (to.Name == addr.Name{}) {
		c.diags.Add(diag.BadMoved.As(`Invalid "moved" addresses`).Error(m.Range, `The "from" and "to" addresses must either both refer to resources or both refer to modules.`))
		return
	}
	c.prog.Moved = append(c.prog.Moved, m)
}

func (c *compiler) removed(b *hcl.Block) {
	content := c.content(b.Body, removedSchema)
	from, ok := c.endpoint(content.Attributes["from"])
	if !ok {
		return
	}
	r := &program.Removed{From: from, Range: b.DefRange}
	if from.Name.Mode != addr.Managed {
		c.diags.Add(diag.BadReference.As("Invalid address").Error(from.Range, "Only managed resources and modules can be named in a removed block."))
		return
	}
	var lifecycle *hcl.Block
	in := &scope{count: true, each: true, self: true, destroy: true}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "lifecycle":
			if lifecycle != nil {
				c.diags.Add(diag.Duplicate.As("Duplicate lifecycle block").Error(inner.DefRange, "The removed block already has a lifecycle block at %s.", lifecycle.DefRange))
				continue
			}
			lifecycle = inner
			if v, ok := c.literal().Value(c.content(inner.Body, removedLifecycleSchema).Attributes["destroy"], cty.Bool); ok {
				destroy := v.True()
				r.Destroy = &destroy
			}
		case "connection":
			c.later = append(c.later, func() { r.Connection = c.body(inner.Body, inner.DefRange, in) })
		case "provisioner":
			if (from.Name == addr.Name{}) {
				c.diags.Add(diag.BadRemoved.As(`Invalid "removed" block`).Error(inner.DefRange, `"removed" blocks with provisioners can only target resources, and this one targets a module.`))
				continue
			}
			c.later = append(c.later, func() { c.removedProvisioner(r, inner, in) })
		}
	}
	c.later = append(c.later, func() {
		for _, p := range r.Provisioners {
			p.Outer = r.Connection
		}
	})
	if r.Destroy == nil {
		c.diags.Add(BadLifecycle.As("Missing lifecycle from the removed block").Warning(b.DefRange, "Say in a lifecycle block whether the objects shall be destroyed, with destroy = true or destroy = false. Without it OpenTofu only forgets them, and Terraform destroys them."))
	}
	c.prog.Removed = append(c.prog.Removed, r)
}

func (c *compiler) removedProvisioner(r *program.Removed, b *hcl.Block, in *scope) {
	p := c.provisioner(b, in)
	if p == nil {
		return
	}
	if !p.OnDestroy {
		c.diags.Add(diag.BadRemoved.As(`Invalid "removed.provisioner" block`).Error(b.DefRange, `"removed" blocks can only contain destroy provisioners: set when = destroy.`))
		return
	}
	if r.Destroy == nil || !*r.Destroy {
		c.diags.Add(diag.BadProvisioner.As("Removed block provisioners will not be executed").Warning(b.DefRange, "The objects are forgotten and not destroyed, so the provisioners for their destruction have no effect."))
	}
	r.Provisioners = append(r.Provisioners, p)
}

func hasKeys(m addr.Module) bool { return m != m.Erase() }

// importBlock decodes an import block, whose target may have computed keys.
func (c *compiler) importBlock(b *hcl.Block) {
	content := c.content(b.Body, importSchema)
	attrs := content.Attributes
	target := attrs["to"]
	if target == nil {
		return
	}
	im := &program.Import{Range: b.DefRange}
	a, ok := c.importTarget(target.Expr)
	if !ok {
		return
	}
	switch id, identity := attrs["id"], attrs["identity"]; {
	case id == nil && identity == nil:
		c.diags.Add(diag.BadImport.As("Missing required import argument").Error(b.DefRange, "One of 'id' or 'identity' must be specified in an import block to identify the object to import."))
		return
	case id != nil && identity != nil:
		c.diags.Add(diag.Duplicate.As("Conflicting import arguments").Error(identity.NameRange, "Only one of 'id' or 'identity' can be specified in an import block."))
		return
	}
	c.prog.Imports = append(c.prog.Imports, im)
	if attr := attrs["provider"]; attr != nil {
		c.providerUse(&im.Provider, attr, a.Name.Type, attr.Range)
	}
	c.later = append(c.later, func() { c.resolveImport(im, a, attrs) })
}

func (c *compiler) resolveImport(im *program.Import, a address, attrs hcl.Attributes) {
	in := &scope{each: attrs["for_each"] != nil}
	im.ForEach = c.attribute(attrs["for_each"], noScope)
	im.ID = c.attribute(attrs["id"], in)
	im.Identity = c.attribute(attrs["identity"], in)
	switch attr := attrs["provider"]; {
	case attr != nil:
		c.providerKey(&im.Provider, attr, in)
		c.importProvider(a, attr)
	case len(a.Modules) == 0 && c.prog.ResourceByName[a.Name] == nil:
		// Nobody else says which provider knows the object.
		c.providerUse(&im.Provider, nil, a.Name.Type, im.Range)
	}
	var modules []addr.Step
	for i, m := range a.Modules {
		key, computed := constantKey(a.ModuleKeys[i])
		var expr *program.Expr
		if computed {
			key = addr.AnyKey
			expr = c.expr(a.ModuleKeys[i], in)
			if im.ModuleKeys == nil {
				im.ModuleKeys = make([]*program.Expr, len(a.Modules))
			}
			im.ModuleKeys[i] = expr
		}
		modules = append(modules, addr.Step{Call: addr.Mod(m), Key: key})
	}
	im.To = addr.Resource{Module: addr.FromSteps(modules), Name: a.Name}
	if a.Key != nil {
		im.ToKey = c.expr(a.Key, in)
	}
}

// importProvider checks the provider argument of an import block. It says who generates
// the configuration of the target; a target that has some has its own provider.
func (c *compiler) importProvider(a address, attr *hcl.Attribute) {
	wrong := diag.BadImport.As("Invalid import provider argument")
	if len(a.Modules) > 0 {
		c.diags.Add(wrong.Error(attr.Range, "The target is in a module, whose providers are those of its module block. Remove the argument."))
		return
	}
	target := c.prog.ResourceByName[a.Name]
	if target == nil {
		return
	}
	before := len(c.diags)
	ref, ok := c.providerRef(attr.Expr, "provider")
	c.diags = c.diags[:before] // reported when it was declared
	switch use := target.Provider; {
	case !ok:
	case !use.Explicit:
		c.diags.Add(wrong.Error(attr.Range, "The block of %s at %s has no provider argument, and an import uses the provider of its target. Write the argument there, or remove it here.", a.Name, target.Range))
	case use.LocalName != ref.Local || use.Alias != ref.Alias:
		c.diags.Add(wrong.Error(attr.Range, "The block of %s at %s has another provider argument, and an import uses the provider of its target. Remove the argument here, or write the same one.", a.Name, target.Range))
	}
}

// importTarget reads the target of an import.
func (c *compiler) importTarget(expr hcl.Expression) (address, bool) {
	at := expr.Range()
	if s, ok := expr.(*syntax.StringExpr); ok {
		inner, problems := s.AsExpression()
		c.diags.Append(problems)
		if inner == nil {
			return address{}, false
		}
		expr = inner
	}
	steps, ok := addressSteps(expr)
	a, problem := parseAddress(steps)
	switch {
	case !ok || problem == "" && (a.Rest > 0 || a.Name == addr.Name{}):
		problem = "Import address must be a reference to a resource's address, and only allows for indexing with dynamic keys, as in module.app[each.key].aws_s3_bucket.data or aws_s3_bucket.data[0]."
	case problem == "" && a.Name.Mode != addr.Managed:
		problem = "Only managed resources can be imported."
	}
	if problem != "" {
		c.diags.Add(diag.BadImport.As("Invalid import address expression").Error(at, "%s", problem))
		return a, false
	}
	return a, true
}

// checkRefactoring compares removed and import blocks with what the module
// declares.
func (c *compiler) checkRefactoring() {
	before := len(c.diags)
	for _, r := range c.prog.Removed {
		steps := r.From.Module.Steps()
		switch {
		case r.From.Key != addr.NoKey || hasKeys(r.From.Module):
			// Planning knows which instances there are.
		case len(steps) == 0:
			if still := c.prog.ResourceByName[r.From.Name]; still != nil {
				c.diags.Add(StillDeclared.Error(r.Range, "This statement declares a removal of the resource %s, but this resource block still exists in the configuration at %s. Please remove the resource block.", r.From.Name, still.Range))
			}
		case len(steps) == 1 && r.From.Name == addr.Name{}:
			if still := c.prog.CallByName[steps[0].Call]; still != nil {
				c.diags.Add(StillDeclared.As("Removed module block still exists").Error(r.Range, "This statement declares a removal of the module %s, but this module block still exists in the configuration at %s. Please remove the module block.", r.From.Module, still.Range))
			}
		}
	}
	c.used(before, noScope)
	seen := map[string]hcl.Range{}
	for _, im := range c.prog.Imports {
		key, computed := addr.NoKey, false
		if im.ToKey != nil {
			key, computed = constantKey(im.ToKey.Expression)
		}
		if computed || im.ModuleKeys != nil {
			continue
		}
		target := im.To.Instance(key).String()
		if first, twice := seen[target]; twice {
			c.diags.Add(diag.BadImport.As(fmt.Sprintf("Duplicate import configuration for %q", target)).Error(im.Range, "An import block for the resource %q was already declared at %s. A resource can have only one import block.", target, first))
		}
		seen[target] = im.Range
	}
}
