package syntax

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
)

// A StringExpr is a string of a JSON file. It is a template where expressions
// are evaluated, text where no context is given, and a reference or call where
// those are asked for by hcl.AbsTraversalForExpr and hcl.ExprCall.
//
// The embedded expression is the template, and is what a rewrite replaces. One
// StringExpr is shared by everything that reads the same string.
type StringExpr struct {
	hclsyntax.Expression
	Text     string
	SrcRange hcl.Range
	// Problems are those of the template; they count only where it is
	// evaluated.
	Problems diag.List
}

func newStringExpr(text string, rng hcl.Range) *StringExpr {
	e := &StringExpr{Text: text, SrcRange: rng}
	if !strings.Contains(text, "${") && !strings.Contains(text, "%{") {
		e.Expression = &hclsyntax.LiteralValueExpr{Val: cty.StringVal(text), SrcRange: rng}
		return e
	}
	src := []byte(text)
	if d, bad := checkDepth(rng.Filename, src, lexTemplate); bad {
		d.Subject = &rng
		e.Problems = diag.List{d}
	} else {
		expr, diags := hclsyntax.ParseTemplate(src, rng.Filename, e.inner())
		e.Expression = expr
		e.Problems = diag.FromHCL(Invalid, diags)
		if !diags.HasErrors() {
			return e
		}
	}
	e.Expression = &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: rng}
	return e
}

// inner is the position behind the opening quote.
func (e *StringExpr) inner() hcl.Pos {
	start := e.SrcRange.Start
	return hcl.Pos{Line: start.Line, Column: start.Column + 1, Byte: start.Byte + 1}
}

// Value is the text when there's no context, else the value of the template.
func (e *StringExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if ctx == nil {
		return cty.StringVal(e.Text), nil
	}
	if e.Problems.HasErrors() {
		return cty.DynamicVal, e.Problems.ToHCL()
	}
	return e.Expression.Value(ctx)
}

// Variables are those of the template.
func (e *StringExpr) Variables() []hcl.Traversal {
	return hclsyntax.Variables(e.Expression)
}

// Range is the string with its quotes.
func (e *StringExpr) Range() hcl.Range { return e.SrcRange }

// StartRange is the same.
func (e *StringExpr) StartRange() hcl.Range { return e.SrcRange }

// AsTraversal reads the text as a reference, for hcl.AbsTraversalForExpr.
func (e *StringExpr) AsTraversal() hcl.Traversal {
	src := []byte(e.Text)
	if _, bad := checkDepth(e.SrcRange.Filename, src, lexExpression); bad {
		return nil
	}
	traversal, diags := hclsyntax.ParseTraversalAbs(src, e.SrcRange.Filename, e.inner())
	if diags.HasErrors() {
		return nil
	}
	return traversal
}

// AsExpression reads the text as an expression in native syntax, for the few
// arguments that take one, such as an import block's address.
func (e *StringExpr) AsExpression() (hclsyntax.Expression, diag.List) {
	return ParseExpression([]byte(e.Text), e.SrcRange.Filename, e.inner())
}

// Elements are the expressions in the list of an attribute, texts in JSON read as expressions.
// Anything that can't be one is left out, with a problem.
func Elements(attr *hcl.Attribute) ([]hclsyntax.Expression, diag.List) {
	exprs, problems := hcl.ExprList(attr.Expr)
	var diags diag.List
	if len(problems) > 0 {
		diags = diag.FromHCL(Invalid, problems)
	}
	var list []hclsyntax.Expression
	for _, e := range exprs {
		if s, ok := e.(*StringExpr); ok {
			inner, problems := s.AsExpression()
			diags.Append(problems)
			if inner == nil {
				continue
			}
			e = inner
		}
		if node, ok := e.(hclsyntax.Expression); ok {
			list = append(list, node)
		}
	}
	return list, diags
}

// ExprCall reads the text as a function call, for hcl.ExprCall.
func (e *StringExpr) ExprCall() *hcl.StaticCall {
	if !bytes.ContainsRune([]byte(e.Text), '(') {
		return nil
	}
	expr, diags := e.AsExpression()
	if diags.HasErrors() {
		return nil
	}
	call, callDiags := hcl.ExprCall(expr)
	if callDiags.HasErrors() {
		return nil
	}
	return call
}
