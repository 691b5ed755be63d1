package compiler

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var (
	callSchema = syntax.Schema([]string{"source!", "version", "count", "for_each", "depends_on", "providers"}, "_", "lifecycle", "locals", "provider:type")
	// The form in which package stack writes components and stacks: their inputs stand in the
	// block "_", or are an object; a removed block has the keys of its path, and the
	// calls of it as further labels.
	stackCallSchema     = syntax.Schema([]string{"source!", "version", "for_each", "depends_on", "providers", "inputs", "keys"}, "_")
	callLifecycleSchema = syntax.Schema([]string{"enabled"})
	// Anything that only Terraform has, so that in OpenTofu it may be the name of an input.
	quietSchema = syntax.Schema([]string{"ignore_nested_deprecations"})
)

// call declares a module call.
func (c *compiler) call(b *hcl.Block) {
	kind, _ := addr.ParseKind(b.Type)
	call := c.newCall(b, kind, 0)
	if first := c.prog.CallByName[call.Call]; first != nil {
		c.duplicate(b.DefRange, "Duplicate "+b.Type+" call", "A "+b.Type+" call", call.Name, first.Range)
		return
	}
	call.Index = len(c.prog.Calls)
	c.prog.Calls = append(c.prog.Calls, call)
	c.prog.CallByName[call.Call] = call
}

// goneCall declares the call of a stack's removed block. Each instance may have a
// block of its own.
func (c *compiler) goneCall(b *hcl.Block) {
	kind, _ := addr.ParseKind(b.Labels[0])
	call := c.newCall(b, kind, 1)
	call.Gone, call.Nth = true, 1
	for _, other := range c.prog.Gone {
		if other.Call == call.Call {
			call.Nth++
		}
	}
	c.prog.Gone = append(c.prog.Gone, call)
}

// newCall decodes a call whose name is in a label of its block.
func (c *compiler) newCall(b *hcl.Block, kind addr.Kind, label int) *program.Call {
	call := &program.Call{Call: addr.Call{Kind: kind, Name: b.Labels[label]}, Range: b.DefRange}
	c.name(b, label, "Invalid "+b.Type+" instance name")
	schema := callSchema
	if c.stack {
		schema = stackCallSchema
	}
	content, rest := c.split(b.Body, schema)
	attrs := content.Attributes
	lifecycle := hcl.Attributes{}
	seen := map[string]*hcl.Block{}
	for _, inner := range content.Blocks {
		first := seen[inner.Type]
		seen[inner.Type] = inner
		switch inner.Type {
		case "lifecycle":
			if first != nil && first.DefRange.Filename == inner.DefRange.Filename {
				c.diags.Add(diag.Duplicate.As("Duplicate lifecycle block").Error(inner.DefRange, "This module call already has a lifecycle block at %s.", first.DefRange))
				continue
			}
			for name, attr := range c.content(inner.Body, callLifecycleSchema).Attributes {
				lifecycle[name] = attr
			}
		case "_":
			rest = c.escape(rest, inner, first)
		default:
			c.diags.Add(diag.BadName.As("Reserved block type name in module block").Error(inner.TypeRange, "The block type name %q is reserved for use by the language.", inner.Type))
		}
	}
	call.Repeat = c.repeat(attrs, lifecycle["enabled"], b.Type)
	if c.registry == addr.Terraform && !c.stack {
		var quiet *hcl.BodyContent
		quiet, rest = c.split(rest, quietSchema)
		call.Quiet = c.literal().Bool(quiet.Attributes["ignore_nested_deprecations"], false)
	}
	inputs, diags := rest.JustAttributes()
	c.hcl(diags)
	c.later = append(c.later, func() {
		c.resolveCall(call, attrs, inputs)
		if c.stack {
			c.resolveStackCall(call, attrs, b.Labels[label+1:])
		}
	})
	return call
}

// resolveStackCall compiles what only calls of stacks have. Names are the kinds and
// names of the calls that a path leads through.
func (c *compiler) resolveStackCall(call *program.Call, attrs hcl.Attributes, names []string) {
	in := instances(call.Repeat)
	call.Object = c.attribute(attrs["inputs"], in)
	attr := attrs["keys"]
	if attr == nil {
		return
	}
	keys, diags := hcl.ExprList(attr.Expr)
	c.hcl(diags)
	for i, key := range keys {
		step := program.PathStep{Call: call.Call}
		if 2*i+1 < len(names) {
			kind, _ := addr.ParseKind(names[2*i])
			step.Call = addr.Call{Kind: kind, Name: names[2*i+1]}
		}
		if v, diags := key.Value(nil); diags.HasErrors() || !v.IsNull() {
			step.Key = c.expr(key, in)
		}
		call.Path = append(call.Path, step)
	}
}

func (c *compiler) resolveCall(call *program.Call, attrs, inputs hcl.Attributes) {
	in := instances(call.Repeat)
	c.resolveRepeat(&call.Repeat, noScope)
	early := *in
	early.static = true
	call.Source = c.attribute(attrs["source"], &early)
	call.Version = c.attribute(attrs["version"], &early)
	call.DependsOn = c.dependsOn(attrs["depends_on"], noScope)
	if attr := attrs["providers"]; attr != nil {
		call.Passes = true
		c.passed(call, attr, in)
	}
	for i, attr := range syntax.InOrder(inputs) {
		call.Inputs = append(call.Inputs, &program.Input{
			Index: i, Name: attr.Name, Expr: c.expr(attr.Expr, in), Range: attr.NameRange,
		})
	}
}

// passed reads the providers argument of a call.
func (c *compiler) passed(call *program.Call, attr *hcl.Attribute, in *scope) {
	pairs, diags := hcl.ExprMap(attr.Expr)
	c.hcl(diags)
	seen := map[program.ProviderName]hcl.Range{}
	for _, pair := range pairs {
		inner, ok := c.providerRef(pair.Key, "providers")
		if !ok {
			continue
		}
		if inner.key != nil {
			c.diags.Add(diag.BadProvider.As("Invalid module provider configuration").Error(pair.Key.Range(), "Instance keys are not allowed on the left side of a provider configuration assignment."))
			continue
		}
		outer, ok := c.providerRef(pair.Value, "providers")
		if !ok {
			continue
		}
		if first, twice := seen[inner.ProviderName]; twice {
			c.diags.Add(diag.Duplicate.As("Duplicate provider address").Error(pair.Value.Range(), "A provider configuration was already passed to %s at %s. Each child provider configuration can be assigned only once.", inner.ProviderName, first))
			continue
		}
		seen[inner.ProviderName] = pair.Value.Range()
		p := &program.PassedProvider{
			LocalName: inner.Local, Alias: inner.Alias, Range: pair.Key.Range(),
			Outer: program.ProviderUse{LocalName: outer.Local, Alias: outer.Alias, Explicit: true, Range: pair.Value.Range()},
		}
		if outer.key != nil {
			p.Outer.Key = c.expr(outer.key, in)
		}
		c.uses = append(c.uses, &p.Outer)
		call.Providers = append(call.Providers, p)
	}
}
