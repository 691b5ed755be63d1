package compiler

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var lifecycleSchema = syntax.Schema([]string{"create_before_destroy", "prevent_destroy", "destroy", "ignore_changes", "replace_triggered_by", "enabled"}, "precondition", "postcondition", "action_trigger")

// lifecycle reads a lifecycle block; a later one, of an override file,
// replaces single arguments.
func (c *compiler) lifecycle(r *resourceBlock, b *hcl.Block) {
	content := c.content(b.Body, lifecycleSchema)
	for name, attr := range content.Attributes {
		if r.Name.Mode != addr.Managed && name != "enabled" {
			c.diags.Add(BadLifecycle.As(fmt.Sprintf("Invalid %s resource lifecycle argument", blockNames[r.Name.Mode])).Error(attr.NameRange, "The lifecycle argument %q is defined only for managed resources (\"resource\" blocks), and is not valid here.", name))
			continue
		}
		r.lifecycle[name] = attr
	}
	for _, inner := range content.Blocks {
		switch {
		case inner.Type == "action_trigger" && r.Name.Mode != addr.Managed:
			c.diags.Add(BadLifecycle.As(fmt.Sprintf("Invalid %s resource lifecycle argument", blockNames[r.Name.Mode])).Error(inner.TypeRange, "Actions are triggered by changes of managed resources (\"resource\" blocks): \"action_trigger\" is not valid here."))
		case inner.Type == "action_trigger":
			r.triggers = append(r.triggers, inner)
		case r.Check == nil:
			r.conditions = append(r.conditions, inner)
		}
	}
}

func (c *compiler) resolveLifecycle(r *resourceBlock, in *scope) {
	p, attrs := r.Resource, r.lifecycle
	p.CreateBeforeDestroy = c.literal().Bool(attrs["create_before_destroy"], false)
	p.SkipDestroy = !c.literal().Bool(attrs["destroy"], true)
	p.PreventDestroy = c.attribute(attrs["prevent_destroy"], in)
	if p.PreventDestroy != nil {
		before := len(c.diags)
		for _, ref := range p.PreventDestroy.Refs {
			if ref.Kind == program.RefEach || ref.Kind == program.RefCount {
				c.diags.Add(BadLifecycle.As("Invalid reference in prevent_destroy").Error(ref.Range, "A prevent_destroy argument cannot refer to %s: it is needed for instances, too, that the configuration doesn't have any more.", ref.Text))
			}
		}
		c.used(before, in)
	}
	if attr := attrs["ignore_changes"]; attr != nil {
		c.ignoreChanges(p, attr)
	}
	if attr := attrs["replace_triggered_by"]; attr != nil {
		p.ReplaceTriggeredBy = c.triggers(attr, in)
	}
}

func (c *compiler) ignoreChanges(p *program.Resource, attr *hcl.Attribute) {
	if hcl.ExprAsKeyword(attr.Expr) == "all" {
		p.IgnoreAll = true
		return
	}
	exprs, diags := hcl.ExprList(attr.Expr)
	c.hcl(diags)
	for _, e := range exprs {
		if v, diags := e.Value(nil); !diags.HasErrors() && syntax.KeyText(v) == `"*"` {
			c.diags.Add(BadLifecycle.As("Invalid ignore_changes wildcard").Error(e.Range(), "The [\"*\"] form of ignore_changes wildcard is invalid. Use \"ignore_changes = all\" to ignore changes to all attributes."))
			continue
		}
		t, diags := hcl.RelTraversalForExpr(c.literal().Unquote(e, "references"))
		c.hcl(diags)
		if !diags.HasErrors() {
			p.IgnoreChanges = append(p.IgnoreChanges, t)
		}
	}
}

// triggers reads the references of replace_triggered_by: to managed resources,
// their instances and attributes of those.
func (c *compiler) triggers(attr *hcl.Attribute, in *scope) []*program.Ref {
	elements, diags := syntax.Elements(attr)
	c.diags.Append(diags)
	var refs []*program.Ref
	for _, e := range elements {
		at := *in
		at.eachKey = true
		r := rewriter{c: c, in: &at}
		before := len(c.diags)
		ref, isRef := r.expr(e).(*program.RefExpr)
		r.finish()
		switch {
		case len(c.diags) > before:
		case !isRef:
			c.diags.Add(BadLifecycle.As("Invalid replace_triggered_by expression").Error(e.Range(), "Each element of replace_triggered_by is a reference to a managed resource, to one of its instances, or to an attribute of one."))
		case ref.Ref.Kind != program.RefResource || ref.Ref.Resource.Name.Mode != addr.Managed:
			c.diags.Add(BadLifecycle.As("Invalid reference in replace_triggered_by expression").Error(e.Range(), "Only resources, count.index, and each.key may be used in replace_triggered_by."))
		default:
			refs = append(refs, ref.Ref)
		}
	}
	return refs
}
