package compiler

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/lang/program"
)

// dependsOn reads the references of a depends_on argument.
func (c *compiler) dependsOn(attr *hcl.Attribute, in *scope) []*program.Ref {
	if attr == nil {
		return nil
	}
	exprs, diags := hcl.ExprList(attr.Expr)
	c.hcl(diags)
	var refs []*program.Ref
	for _, e := range exprs {
		e = c.literal().Unquote(e, "references")
		t, diags := hcl.AbsTraversalForExpr(e)
		if diags.HasErrors() {
			c.hcl(diags)
			continue
		}
		ref := c.reference(t, e.Range(), in)
		if ref == nil {
			continue
		}
		before := len(c.diags)
		if c.dependsOnWhole(ref, in) {
			refs = append(refs, ref)
		}
		c.used(before, in)
	}
	return refs
}

// dependsOnWhole checks that depends_on may have a reference.
func (c *compiler) dependsOnWhole(ref *program.Ref, in *scope) bool {
	if !c.stack && ref.Kind == program.RefCall && ref.Key == nil && len(ref.Rest) == 1 {
		// An output of every instance of a module: OpenTofu and Terraform take that.
		ref.Rest = nil
	}
	switch {
	case len(ref.Rest) > 0:
		c.diags.Add(BadDependsOn.Error(ref.Range, "References in depends_on must be to a whole object (resource, etc), not to an attribute of an object."))
	case c.stack && ref.Kind != program.RefCall:
		c.diags.Add(BadDependsOn.As("Invalid depends_on target").Error(ref.Range, "Only whole components and embedded stacks can stand in depends_on, as in component.NAME and stack.NAME."))
	case in.own != nil && ref.Resource == in.own:
		c.diags.Add(SelfReference.Error(ref.Range, "Configuration for %s may not refer to itself.", in.own.Name))
	default:
		return true
	}
	return false
}
