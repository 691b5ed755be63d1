package compiler

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var variableSchema = syntax.Schema([]string{"description", "default", "type", "sensitive", "ephemeral", "nullable", "deprecated", "const"}, "validation")

// reservedNames are those of arguments and blocks in module calls.
var reservedNames = []string{"source", "version", "providers", "count", "for_each", "depends_on", "lifecycle", "locals"}

func (c *compiler) variable(b *hcl.Block, json bool) {
	v := &program.Variable{Name: b.Labels[0], Range: b.DefRange, Type: cty.DynamicPseudoType}
	c.name(b, 0, "Invalid variable name")
	if !c.stack && slices.Contains(reservedNames, v.Name) {
		c.diags.Add(diag.BadName.As("Invalid variable name").Error(b.LabelRanges[0], "The variable name %q is reserved due to its special meaning inside module blocks.", v.Name))
	}
	content := c.content(b.Body, variableSchema)
	attrs := content.Attributes
	v.Description = c.literal().String(attrs["description"])
	v.Sensitive = c.literal().Bool(attrs["sensitive"], false)
	v.Ephemeral = c.literal().Bool(attrs["ephemeral"], false)
	v.Nullable = c.literal().Bool(attrs["nullable"], true)
	v.Const = c.literal().Bool(attrs["const"], false)
	v.NotConst = attrs["const"] != nil && !v.Const
	v.Deprecated = c.literal().Deprecated(attrs["deprecated"])
	if attr := attrs["type"]; attr != nil {
		v.Type, v.Defaults = c.literal().Type(attr.Expr)
	} else {
		v.Untyped = true
	}
	if attr := attrs["default"]; attr != nil {
		v.Default = c.literal().Default(attr, v.Type, v.Defaults, v.Nullable)
	}
	if first := c.prog.VariableByName[v.Name]; first != nil {
		c.duplicate(b.DefRange, "Duplicate variable declaration", "A variable", v.Name, first.Range)
		return
	}
	v.Index = len(c.prog.Variables)
	c.prog.Variables = append(c.prog.Variables, v)
	c.prog.VariableByName[v.Name] = v
	if len(content.Blocks) > 0 {
		c.later = append(c.later, func() { c.validations(v, content.Blocks) })
	}
}

func (c *compiler) validations(v *program.Variable, blocks hcl.Blocks) {
	for _, b := range blocks {
		before := len(c.diags)
		cond := c.condition(b, noScope)
		if cond == nil {
			continue
		}
		own := slices.ContainsFunc(cond.Condition.Refs, func(ref *program.Ref) bool { return ref.Variable == v })
		if !own && len(c.diags) == before {
			c.diags.Add(diag.BadCondition.As("Invalid variable validation condition").Error(cond.Condition.Range(), "The condition for variable %q must refer to var.%s in order to test incoming values.", v.Name, v.Name))
			continue
		}
		v.Validations = append(v.Validations, cond)
	}
}

// locals declares the entries of a locals block. An override replaces what
// has the same name.
func (c *compiler) locals(b *module.Block) {
	attrs, diags := b.Body.JustAttributes()
	c.hcl(diags)
	for _, attr := range syntax.InOrder(attrs) {
		if !hclsyntax.ValidIdentifier(attr.Name) {
			c.diags.Add(diag.BadName.As("Invalid local value name").Error(attr.NameRange, identifierRule))
		}
		l := c.prog.LocalByName[attr.Name]
		switch {
		case b.Override && l == nil:
			c.diags.Add(module.BadOverride.As("Missing base local value definition to override").Error(attr.NameRange, "There is no local value named %q. An override file can only override a local value that was already defined in a primary configuration file.", attr.Name))
			continue
		case !b.Override && l != nil:
			c.duplicate(attr.NameRange, "Duplicate local value definition", "A local value", attr.Name, l.Range)
			continue
		case l == nil:
			l = &program.Local{Index: len(c.prog.Locals), Name: attr.Name}
			c.prog.Locals = append(c.prog.Locals, l)
			c.prog.LocalByName[attr.Name] = l
		}
		l.Range = attr.Range
		l.Expr = &program.Expr{Expression: attr.Expr}
		if !b.Override {
			c.later = append(c.later, func() { l.Expr = c.expr(l.Expr.Expression, noScope) })
		}
	}
}

var outputSchema = syntax.Schema([]string{"description", "value!", "depends_on", "sensitive", "ephemeral", "deprecated", "type"}, "precondition", "postcondition")

func (c *compiler) output(b *hcl.Block) {
	o := &program.Output{Name: b.Labels[0], Range: b.DefRange}
	c.name(b, 0, "Invalid output name")
	content := c.content(b.Body, outputSchema)
	attrs := content.Attributes
	o.Description = c.literal().String(attrs["description"])
	o.Sensitive = c.literal().Bool(attrs["sensitive"], false)
	o.Ephemeral = c.literal().Bool(attrs["ephemeral"], false)
	o.Deprecated = c.literal().Deprecated(attrs["deprecated"])
	if attr := attrs["type"]; attr != nil {
		o.Type, o.Defaults = c.literal().Type(attr.Expr)
	}
	if first := c.prog.OutputByName[o.Name]; first != nil {
		c.duplicate(b.DefRange, "Duplicate output definition", "An output", o.Name, first.Range)
		return
	}
	o.Index = len(c.prog.Outputs)
	c.prog.Outputs = append(c.prog.Outputs, o)
	c.prog.OutputByName[o.Name] = o
	o.Expr = &program.Expr{Expression: placeholder(b.DefRange)}
	c.later = append(c.later, func() {
		if attr := attrs["value"]; attr != nil {
			o.Expr = c.attribute(attr, noScope)
		}
		o.DependsOn = c.dependsOn(attrs["depends_on"], noScope)
		for _, inner := range content.Blocks {
			if inner.Type == "postcondition" {
				c.diags.Add(diag.BadCondition.As("Postconditions are not allowed").Error(inner.DefRange, "Output values can only have preconditions, not postconditions."))
			} else if cond := c.condition(inner, noScope); cond != nil {
				o.Preconditions = append(o.Preconditions, cond)
			}
		}
	})
}
