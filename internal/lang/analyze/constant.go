package analyze

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// constant evaluates an argument that must be known without any context.
// Without the argument, or after an error, ok is false.
func (c *compiler) constant(attr *hcl.Attribute, want cty.Type) (value cty.Value, ok bool) {
	if attr == nil {
		return cty.NilVal, false
	}
	v, diags := attr.Expr.Value(nil)
	c.hcl(diags)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	converted, err := convert.Convert(v, want)
	switch {
	case err != nil:
		c.diags.ErrorAt(attr.Expr.Range(), "Unsuitable value type", "Unsuitable value for %q: %s.", attr.Name, err)
		return cty.NilVal, false
	case converted.IsNull():
		c.diags.ErrorAt(attr.Expr.Range(), "Unsuitable value type", "Unsuitable value for %q: it is null, and a %s is required.", attr.Name, want.FriendlyName())
		return cty.NilVal, false
	case !converted.IsWhollyKnown():
		c.diags.ErrorAt(attr.Expr.Range(), "Unsuitable value", "The value of %q must be a constant.", attr.Name)
		return cty.NilVal, false
	}
	return converted, true
}

func (c *compiler) constantString(attr *hcl.Attribute) string {
	if v, ok := c.constant(attr, cty.String); ok {
		return v.AsString()
	}
	return ""
}

func (c *compiler) constantBool(attr *hcl.Attribute, otherwise bool) bool {
	if v, ok := c.constant(attr, cty.Bool); ok {
		return v.True()
	}
	return otherwise
}

// unquote reads a reference or keyword that stands in quotes, which early
// versions of the language asked for.
func (c *compiler) unquote(expr hcl.Expression, what string) hcl.Expression {
	template, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok || !template.IsStringLiteral() {
		return expr
	}
	v, diags := template.Value(nil)
	if diags.HasErrors() {
		return expr
	}
	start := template.SrcRange.Start
	inner, problems := syntax.ParseExpression([]byte(v.AsString()), template.SrcRange.Filename,
		hcl.Pos{Line: start.Line, Column: start.Column + 1, Byte: start.Byte + 1})
	if problems.HasErrors() {
		return expr
	}
	if _, isTraversal := hcl.AbsTraversalForExpr(inner); isTraversal.HasErrors() {
		return expr
	}
	c.diags.WarnAt(template.SrcRange, fmt.Sprintf("Quoted %s are deprecated", what),
		"In this context, %s are expected literally rather than in quotes. Remove the quotes to silence this warning.", what)
	return inner
}

// keyword reads an argument that is a bare word.
func (c *compiler) keyword(attr *hcl.Attribute) string {
	return hcl.ExprAsKeyword(c.unquote(attr.Expr, "keywords"))
}

// dependsOn reads the references of a depends_on argument.
func (c *compiler) dependsOn(attr *hcl.Attribute, in *scope) []*program.Ref {
	if attr == nil {
		return nil
	}
	exprs, diags := hcl.ExprList(attr.Expr)
	c.hcl(diags)
	var refs []*program.Ref
	for _, e := range exprs {
		e = c.unquote(e, "references")
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
		// An output of every instance of a module: the peers take that.
		ref.Rest = nil
	}
	switch {
	case len(ref.Rest) > 0:
		c.diags.ErrorAt(ref.Range, "Invalid depends_on reference", "References in depends_on must be to a whole object (resource, etc), not to an attribute of an object.")
	case c.stack && ref.Kind != program.RefCall:
		c.diags.ErrorAt(ref.Range, "Invalid depends_on target", "Only whole components and embedded stacks can stand in depends_on, as in component.NAME and stack.NAME.")
	case in.own != nil && ref.Resource == in.own:
		c.diags.ErrorAt(ref.Range, "Self-referential block", "Configuration for %s may not refer to itself.", in.own.Name)
	default:
		return true
	}
	return false
}

var conditionSchema = schema([]string{"condition!", "error_message!"})

// condition decodes a block with a condition and a message. The block must
// refer to something, or it would check nothing.
func (c *compiler) condition(b *hcl.Block, in *scope) *program.Condition {
	content := c.content(b.Body, conditionSchema)
	cond := &program.Condition{
		Condition:    c.attribute(content.Attributes["condition"], in),
		ErrorMessage: c.attribute(content.Attributes["error_message"], in),
		Range:        b.DefRange,
	}
	if cond.Condition == nil || cond.ErrorMessage == nil {
		return nil
	}
	if len(cond.Condition.Refs) == 0 && !cond.Condition.Broken() && len(c.functionsOf(cond.Condition)) == 0 {
		c.diags.ErrorAt(cond.Condition.Range(), fmt.Sprintf("Invalid %s expression", b.Type),
			"The condition expression must refer to at least one object from elsewhere in the configuration, or else its result would not be checking anything.")
		return nil
	}
	return cond
}

// functionsOf lists the provider functions that an expression calls; their
// results aren't constant.
func (c *compiler) functionsOf(e *program.Expr) []string {
	if len(c.functions) == 0 {
		return nil
	}
	var names []string
	if node, ok := e.Expression.(hclsyntax.Node); ok {
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && c.functions[call.Name] != nil {
				names = append(names, call.Name)
			}
			return nil
		})
	}
	return names
}
