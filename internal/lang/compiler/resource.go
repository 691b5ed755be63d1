package compiler

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var managedSchema, dataSchema = metaSchema(addr.Managed), metaSchema(addr.Data)

// metaSchema is what the language itself reads in a resource, with the block names that are
// reserved for it.
func metaSchema(m addr.Mode) *hcl.BodySchema {
	arguments, blocks := program.Meta(m)
	names := []string{"locals", "_"}
	for _, name := range blocks {
		if name == "provisioner" {
			name += ":type"
		}
		names = append(names, name)
	}
	return syntax.Schema(arguments, names...)
}

// blockNames are what messages call a resource of a mode.
var blockNames = map[addr.Mode]string{addr.Managed: "resource", addr.Data: "data", addr.Ephemeral: "ephemeral", addr.Action: "action", addr.List: "list"}

// A resourceBlock is a resource whose expressions are still to be compiled.
type resourceBlock struct {
	*program.Resource
	attrs        hcl.Attributes
	lifecycle    hcl.Attributes
	conditions   hcl.Blocks
	triggers     hcl.Blocks
	connection   *hcl.Block
	provisioners hcl.Blocks
	body         hcl.Body
}

// resource declares a resource; within is the observer that has it, or nil.
func (c *compiler) resource(b *hcl.Block, mode addr.Mode, within program.Observer) *program.Resource {
	r := c.named(b, mode)
	r.Check = within
	want := dataSchema
	if mode == addr.Managed {
		want = managedSchema
	}
	content, rest := c.split(b.Body, want)
	block := &resourceBlock{Resource: r, attrs: content.Attributes, body: rest, lifecycle: hcl.Attributes{}}
	if r.Check != nil {
		c.refuseWithin(content)
	}
	c.resourceBlocks(block, content.Blocks)
	// How often the block repeats decides what a reference to it means.
	r.Repeat = c.repeat(content.Attributes, block.lifecycle["enabled"], blockNames[mode])
	return c.declareResource(block, b)
}

// named is a resource with the labels of its block.
func (c *compiler) named(b *hcl.Block, mode addr.Mode) *program.Resource {
	kind := blockNames[mode]
	c.name(b, 0, fmt.Sprintf("Invalid %s type name", kind))
	c.name(b, 1, fmt.Sprintf("Invalid %s name", kind))
	return &program.Resource{
		Name:  addr.Name{Mode: mode, Type: b.Labels[0], Name: b.Labels[1]},
		Range: b.DefRange, TypeRange: b.LabelRanges[0],
	}
}

// declareResource adds a resource to the program unless there is one of its name, which
// it returns then.
func (c *compiler) declareResource(block *resourceBlock, b *hcl.Block) *program.Resource {
	r, kind := block.Resource, blockNames[block.Name.Mode]
	c.providerUse(&r.Provider, block.attrs["provider"], r.Name.Type, b.LabelRanges[0])
	if first := c.prog.ResourceByName[r.Name]; first != nil {
		c.diags.Add(diag.Duplicate.As(fmt.Sprintf("Duplicate %s %q configuration", kind, r.Name.Type)).Error(b.DefRange, "A %s %s named %q was already declared at %s. Resource names must be unique per type in each module.", r.Name.Type, kind, r.Name.Name, first.Range))
		return first
	}
	r.Index = len(c.prog.Resources)
	c.prog.Resources = append(c.prog.Resources, r)
	c.prog.ResourceByName[r.Name] = r
	c.later = append(c.later, func() { c.resolveResource(block) })
	return r
}

func (c *compiler) refuseWithin(content *hcl.BodyContent) {
	for _, name := range []string{"count", "for_each"} {
		if attr := content.Attributes[name]; attr != nil {
			c.diags.Add(diag.BadReference.As(fmt.Sprintf("Invalid %q attribute", name)).Error(attr.NameRange, "The %q meta-argument is not supported within nested data blocks.", name))
			delete(content.Attributes, name)
		}
	}
	for _, b := range content.Blocks {
		if b.Type == "lifecycle" {
			c.diags.Add(BadLifecycle.Error(b.DefRange, `Nested data blocks do not support "lifecycle" blocks as the lifecycle is managed by the containing block.`))
		}
	}
}

// repeat reads the arguments that say how many instances there are. Their
// expressions are compiled later.
func (c *compiler) repeat(attrs hcl.Attributes, enabled *hcl.Attribute, kind string) program.Repeat {
	var r program.Repeat
	var names []string
	for _, entry := range []struct {
		attr  *hcl.Attribute
		field **program.Expr
	}{{attrs["count"], &r.Count}, {attrs["for_each"], &r.ForEach}, {enabled, &r.Enabled}} {
		if entry.attr == nil {
			continue
		}
		names = append(names, entry.attr.Name)
		if len(names) == 1 {
			*entry.field = &program.Expr{Expression: entry.attr.Expr}
			continue
		}
		c.diags.Add(diag.Duplicate.As("Invalid combination of "+quoted(names)).Error(entry.attr.NameRange, "The %s meta-arguments are mutually-exclusive. Only one may be used to be explicit about the number of instances of a %s block.", quoted(names), kind))
	}
	return r
}

// resolveRepeat compiles what repeat left.
func (c *compiler) resolveRepeat(r *program.Repeat, in *scope) {
	if e := r.Expr(); e != nil {
		*e = *c.expr(e.Expression, in)
	}
}

// resourceBlocks sorts the nested blocks that the language gives meaning to.
func (c *compiler) resourceBlocks(r *resourceBlock, blocks hcl.Blocks) {
	seen := map[string]*hcl.Block{}
	for _, b := range blocks {
		first := seen[b.Type]
		seen[b.Type] = b
		switch b.Type {
		case "lifecycle":
			// An override file adds its block to that of the base.
			if first != nil && first.DefRange.Filename == b.DefRange.Filename {
				c.diags.Add(diag.Duplicate.As("Duplicate lifecycle block").Error(b.DefRange, "This resource already has a lifecycle block at %s.", first.DefRange))
				continue
			}
			c.lifecycle(r, b)
		case "connection":
			if first != nil {
				c.diags.Add(diag.Duplicate.As("Duplicate connection block").Error(b.DefRange, "This resource already has a connection block at %s.", first.DefRange))
				continue
			}
			r.connection = b
		case "provisioner":
			r.provisioners = append(r.provisioners, b)
		case "_":
			r.body = c.escape(r.body, b, first)
		default:
			c.diags.Add(diag.BadName.As(fmt.Sprintf("Reserved block type name in %s block", blockNames[r.Name.Mode])).Error(b.TypeRange, "The block type name %q is reserved for use by the language.", b.Type))
		}
	}
}

// escape adds the body of an escape block, whose names are all a provider's.
func (c *compiler) escape(body hcl.Body, b, first *hcl.Block) hcl.Body {
	if first != nil {
		c.diags.Add(diag.Duplicate.As("Duplicate escaping block").Error(b.DefRange, "The special block type \"_\" can be used to force particular arguments to be interpreted by the provider. A block can have only one, and this one has another at %s.", first.DefRange))
		return body
	}
	return syntax.Merge(body, b.Body)
}

func (c *compiler) resolveResource(r *resourceBlock) {
	p := r.Resource
	none := &scope{own: p, within: p.Check}
	in := instances(p.Repeat)
	in.own, in.within = p, p.Check
	in.caller = p.Name.Mode == addr.Action
	c.resolveRepeat(&p.Repeat, none)
	if attr := r.attrs["provider"]; attr != nil {
		c.providerKey(&p.Provider, attr, in)
	}
	p.DependsOn = c.dependsOn(r.attrs["depends_on"], none)
	p.Limit, p.Whole = c.attribute(r.attrs["limit"], in), c.attribute(r.attrs["include_resource"], in)
	c.resolveLifecycle(r, in)
	for _, b := range r.triggers {
		p.Triggers = append(p.Triggers, c.trigger(b, in))
	}
	for _, b := range r.conditions {
		at := *in
		at.condition = b.Type
		at.self = b.Type == "postcondition"
		cond := c.condition(b, &at)
		switch {
		case cond == nil:
		case b.Type == "precondition":
			p.Preconditions = append(p.Preconditions, cond)
		default:
			p.Postconditions = append(p.Postconditions, cond)
		}
	}
	p.Config = c.body(r.body, p.Range, in)
	hasDestroy := false
	for _, b := range r.provisioners {
		if v := c.provisioner(b, in); v != nil {
			p.Provisioners = append(p.Provisioners, v)
			hasDestroy = hasDestroy || v.OnDestroy
		}
	}
	if r.connection != nil {
		at := *in
		at.self, at.destroy = true, hasDestroy
		p.Connection = c.body(r.connection.Body, r.connection.DefRange, &at)
		for _, inner := range p.Provisioners {
			inner.Outer = p.Connection
		}
	}
}

var (
	provisionerSchema   = syntax.Schema([]string{"when", "on_failure"}, "connection", "lifecycle", "locals", "_")
	removedProvisioners = map[string]bool{"chef": true, "habitat": true, "puppet": true, "salt-masterless": true}
)

// provisioner decodes a provisioner block; in is the scope of the resource.
func (c *compiler) provisioner(b *hcl.Block, in *scope) *program.Provisioner {
	p := &program.Provisioner{Type: b.Labels[0], Range: b.DefRange}
	if removedProvisioners[p.Type] {
		c.diags.Add(diag.BadProvisioner.As(fmt.Sprintf("The %q provisioner has been removed", p.Type)).Error(b.TypeRange, "There is no %q provisioner any more. Run its program with local-exec or remote-exec, or have it in the image of the machine.", p.Type))
		return nil
	}
	content, rest := c.split(b.Body, provisionerSchema)
	if attr := content.Attributes["when"]; attr != nil {
		switch c.literal().Keyword(attr) {
		case "create":
		case "destroy":
			p.OnDestroy = true
		default:
			c.diags.Add(diag.BadProvisioner.As(`Invalid "when" keyword`).Error(attr.Expr.Range(), `The "when" argument requires one of the following keywords: create or destroy.`))
		}
	}
	if attr := content.Attributes["on_failure"]; attr != nil {
		switch c.literal().Keyword(attr) {
		case "fail":
		case "continue":
			p.Continue = true
		default:
			c.diags.Add(diag.BadProvisioner.As(`Invalid "on_failure" keyword`).Error(attr.Expr.Range(), `The "on_failure" argument requires one of the following keywords: continue or fail.`))
		}
	}
	at := *in
	at.self, at.destroy = true, p.OnDestroy
	var connection, escape *hcl.Block
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "connection":
			if connection != nil {
				c.diags.Add(diag.Duplicate.As("Duplicate connection block").Error(inner.DefRange, "This provisioner already has a connection block at %s.", connection.DefRange))
				continue
			}
			connection = inner
			p.Connection = c.body(inner.Body, inner.DefRange, &at)
		case "_":
			rest = c.escape(rest, inner, escape)
			escape = inner
		default:
			c.diags.Add(diag.BadName.As("Reserved block type name in provisioner block").Error(inner.TypeRange, "The block type name %q is reserved for use by the language.", inner.Type))
		}
	}
	p.Config = c.body(rest, b.DefRange, &at)
	return p
}
