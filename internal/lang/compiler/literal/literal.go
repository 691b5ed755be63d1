// Package literal decodes parts of a configuration without references: constants, keywords,
// types and version constraints.
//
// It owns what such arguments may look like, also in the quotes of early versions of the
// language. It doesn't know which arguments there are.
package literal

import (
	"fmt"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/syntax"
)

// A Reader reads arguments and adds the problems it finds to a list. An argument that
// isn't there is nil and no problem.
type Reader struct{ Diags *diag.List }

func (r Reader) hcl(diags hcl.Diagnostics) {
	if len(diags) > 0 {
		r.Diags.Append(diag.FromHCL(diag.Expression, diags))
	}
}

// Value evaluates an argument without any context. Without the argument, or after an
// error, ok is false.
func (r Reader) Value(attr *hcl.Attribute, want cty.Type) (value cty.Value, ok bool) {
	if attr == nil {
		return cty.NilVal, false
	}
	v, diags := attr.Expr.Value(nil)
	r.hcl(diags)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	converted, err := convert.Convert(v, want)
	switch {
	case err != nil:
		r.Diags.Add(diag.Unsuitable.As("Unsuitable value type").Error(attr.Expr.Range(), "Unsuitable value for %q: %s.", attr.Name, err))
		return cty.NilVal, false
	case converted.IsNull():
		r.Diags.Add(diag.Unsuitable.As("Unsuitable value type").Error(attr.Expr.Range(), "Unsuitable value for %q: it is null, and a %s is required.", attr.Name, want.FriendlyName()))
		return cty.NilVal, false
	case !converted.IsWhollyKnown():
		r.Diags.Add(diag.Unsuitable.Error(attr.Expr.Range(), "The value of %q must be a constant.", attr.Name))
		return cty.NilVal, false
	}
	return converted, true
}

// String reads a text, which is empty without the argument.
func (r Reader) String(attr *hcl.Attribute) string {
	if v, ok := r.Value(attr, cty.String); ok {
		return v.AsString()
	}
	return ""
}

// Bool reads a truth value, or gives another one without the argument.
func (r Reader) Bool(attr *hcl.Attribute, otherwise bool) bool {
	if v, ok := r.Value(attr, cty.Bool); ok {
		return v.True()
	}
	return otherwise
}

// Deprecated reads the message of a declaration that isn't to be used any more.
func (r Reader) Deprecated(attr *hcl.Attribute) string {
	v, ok := r.Value(attr, cty.String)
	if ok && v.AsString() == "" {
		r.Diags.Add(diag.Unsuitable.As("Invalid `deprecated` value").Error(attr.Expr.Range(), `The "deprecated" argument must not be empty: say what to use instead.`))
	}
	if !ok {
		return ""
	}
	return v.AsString()
}

// Unquote reads a reference or keyword that stands in quotes, which early
// versions of the language asked for.
func (r Reader) Unquote(expr hcl.Expression, what string) hcl.Expression {
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
	r.Diags.Add(diag.Outdated.As(fmt.Sprintf("Quoted %s are deprecated", what)).Warning(template.SrcRange, "In this context, %s are expected literally rather than in quotes. Remove the quotes to silence this warning.", what))
	return inner
}

// Keyword reads an argument that is a bare word.
func (r Reader) Keyword(attr *hcl.Attribute) string {
	return hcl.ExprAsKeyword(r.Unquote(attr.Expr, "keywords"))
}

// Type reads a type with optional attributes and their defaults. After an error it is
// any type.
func (r Reader) Type(expr hcl.Expression) (cty.Type, *typeexpr.Defaults) {
	if template, ok := expr.(*hclsyntax.TemplateExpr); ok && template.IsStringLiteral() {
		r.Diags.Add(diag.BadType.As("Invalid quoted type constraints").Error(expr.Range(), "A type constraint stands without quotes, as in string, list(string) or map(number)."))
		return cty.DynamicPseudoType, nil
	}
	switch hcl.ExprAsKeyword(expr) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil
	}
	t, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
	r.hcl(diags)
	if diags.HasErrors() {
		return cty.DynamicPseudoType, nil
	}
	return t, defaults
}

// Default reads the default of a variable of that type. It is unknown after an error.
func (r Reader) Default(attr *hcl.Attribute, t cty.Type, defaults *typeexpr.Defaults, nullable bool) cty.Value {
	value, diags := attr.Expr.Value(nil)
	r.hcl(diags)
	if diags.HasErrors() {
		return cty.UnknownVal(t.WithoutOptionalAttributesDeep())
	}
	for _, d := range syntax.DiscardedAttributes(attr.Expr, t) {
		r.Diags.Add(d.Warning("this variable"))
	}
	if value.IsNull() && !nullable {
		r.Diags.Add(diag.Unsuitable.As("Invalid default value for variable").Error(attr.Expr.Range(), "A null default value is not valid when nullable=false."))
	}
	if defaults != nil && !value.IsNull() {
		value = defaults.Apply(value)
	}
	converted, err := convert.Convert(value, t)
	if err != nil {
		r.Diags.Add(diag.Unsuitable.As("Invalid default value for variable").Error(attr.Expr.Range(), "This default value is not compatible with the variable's type constraint: %s.", conversionError(err)))
		return cty.UnknownVal(t.WithoutOptionalAttributesDeep())
	}
	return converted
}

// conversionError is the message of an error with the place that it is about.
func conversionError(err error) string {
	pathErr, ok := err.(cty.PathError)
	if !ok || len(pathErr.Path) == 0 {
		return err.Error()
	}
	at := ""
	for _, step := range pathErr.Path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			at += "." + step.Name
		case cty.IndexStep:
			at += "[" + syntax.KeyText(step.Key) + "]"
		}
	}
	return at + ": " + err.Error()
}

// Constraint reads a version constraint; it is empty after an error.
func (r Reader) Constraint(expr hcl.Expression) string {
	v, diags := expr.Value(nil)
	r.hcl(diags)
	switch {
	case diags.HasErrors():
	case v.IsNull() || !v.IsKnown() || v.Type() != cty.String:
		r.Diags.Add(diag.BadVersion.Error(expr.Range(), "A version constraint is a string such as \">= 1.2.0, < 2.0.0\"."))
	default:
		if _, err := version.NewConstraint(v.AsString()); err != nil {
			r.Diags.Add(diag.BadVersion.Error(expr.Range(), "%q does not use correct version constraint syntax, as in \">= 1.2.0, < 2.0.0\".", v.AsString()))
			return ""
		}
		return v.AsString()
	}
	return ""
}
